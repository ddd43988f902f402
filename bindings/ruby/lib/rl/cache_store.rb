# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require "rl"

module RL
  # Whole numbers by name, which expire: as much of a cache of Rails as its rate_limit asks for, and every
  # worker of the host has the same. It holds no other values.
  #
  #   class LoginController < ApplicationController
  #     rate_limit to: 10, within: 3.minutes, store: RL::CacheStore.new("web")
  #
  # An increment that cannot be counted (the segment is full, or damaged) raises RL::Error; with
  # on_error: :allow it is 0, with on_error: :deny more than any limit, and both are warned of.
  class CacheStore
    REFUSED = (1 << 48) - 1
    POLICIES = %i[raise allow deny].freeze

    attr_reader :segment

    # A segment, or the name of one; `space` is the name of the counters, which rlctl shows. `clock` returns a
    # Time or nanoseconds, for tests with a time of their own.
    def initialize(segment = "default", space: "cache", on_error: :raise, clock: nil)
      raise ArgumentError, "on_error: #{on_error.inspect} is none of #{POLICIES}" unless POLICIES.include?(on_error)

      @segment = segment.is_a?(Segment) ? segment : RL.open(segment)
      @counters = @segment.counters(space)
      @on_error = on_error
      @clock = clock
    end

    # Add, and return the number after it. One that is not there begins, and lives for `expires_in` seconds;
    # one that is there keeps its end.
    def increment(name, amount = 1, expires_in: nil, **)
      @counters.add(key(name), amount, expires_in, now: now).value
    rescue Error => e
      refused(e)
    end

    # The number stops at 0. One that is not there is 0.
    def decrement(name, amount = 1, expires_in: nil, **)
      increment(name, -amount, expires_in: expires_in)
    end

    # The number, or nil.
    def read(name, _options = nil)
      count = @counters.get(key(name), now: now)
      count.value if count.done
    end

    # The number, or what the block returns, which is stored unless it is nil.
    def fetch(name, options = nil)
      found = read(name) unless options&.fetch(:force, false)
      return found unless found.nil? && block_given?

      yield(name).tap { |value| write(name, value, **(options || {}).slice(:expires_in)) unless value.nil? }
    end

    def exist?(name, _options = nil)
      !read(name).nil?
    end

    # Store a whole number from 0. With unless_exist: true only if there is none: whether it was stored.
    def write(name, value, expires_in: nil, unless_exist: false, **)
      number = Integer(value)
      return @counters.set_new(key(name), number, expires_in, now: now).done if unless_exist

      @counters.set(key(name), number, expires_in, now: now).done
    rescue Error => e
      refused(e).zero?
    end

    # Whether there was one.
    def delete(name, _options = nil)
      @counters.drop(key(name), now: now)
    end

    # Delete all whose name begins so: "prefix*", or a Regexp of nothing else. How many.
    def delete_matched(pattern, _options = nil)
      forgotten, unknown = @segment.reset_matching(beginning(pattern), rule: @counters, match: :prefix)
      raise Error.of(Errno::ENAMETOOLONG::Errno, "#{pattern}: #{unknown} names are not kept whole; key_bytes") if unknown.positive?

      forgotten
    end

    def clear(_options = nil)
      @segment.reset_matching(rule: @counters).first
    end

    private

    def now
      @clock&.call
    end

    # A name that is too long is its beginning, for delete_matched, and the digest of all of it.
    def key(name)
      name = name.to_s
      name.bytesize > 4096 ? name.byteslice(0, 63).b + RL.key_digest(name) : name
    end

    def beginning(pattern)
      text = pattern.is_a?(Regexp) ? pattern.source.sub(/\A(?:\\A|\^)/, "") : pattern.to_s
      return text.chomp("*") if text.match?(/\A[^*?\[\](){}|+\\^$]+\*\z/)

      raise ArgumentError, "#{pattern.inspect}: a beginning and a star is needed, as \"login:*\""
    end

    def refused(error)
      raise error if @on_error == :raise

      warn "rl: #{error.message}: #{@on_error} by on_error"
      @on_error == :allow ? 0 : REFUSED
    end
  end
end
