# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
module RL
  # What is sent bit by bit, and costs what was sent: a body of Rack, or whatever else has `each`.
  class Stream
    def initialize(result, chunks, count)
      @result = result
      @chunks = chunks
      @count = count
    end

    # However it ends, also by a client that is gone, what was yielded is settled. Once.
    def each
      spent = 0
      @chunks.each do |chunk|
        spent += @count.call(chunk)
        yield chunk
      end
    ensure
      @result.settle(spent)
      @result.release
    end

    # A server calls this at the end, also of an answer that it has not begun: that one costs its estimate.
    def close
      @chunks.close if @chunks.respond_to?(:close)
    ensure
      @result.release
    end
  end

  # An answer. Most of it is in C.
  class Result
    # Chunks to be sent, each of which costs what the block says. `keep: true` has kept the charges that this settles.
    def stream(chunks, &count)
      Stream.new(self, chunks, count)
    end
  end
end
