# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# One rate limit shared by all worker processes of a host. See README.md.
require "rbconfig"
require RbConfig::CONFIG["host_os"].include?("linux") ? "rl/rl_ext" : "rl/off"
require "rl/version"
require "rl/segment"
require "rl/rule"
require "rl/stream"

module RL
  # An answer of several rules at once. `decided` is the number of the item that denied, or nil.
  Answers = Struct.new(:verdict, :decided, :results) do
    def allowed?
      verdict == :allowed
    end

    # As Result#pass?: an error is the segment's on_error to say.
    def pass?
      results.all?(&:pass?)
    end
  end

  # Raised by Rule#hold, Rule#spend and Rule#check!: the request is not allowed, and `result` says why.
  class Denied < StandardError
    attr_reader :result

    def initialize(result)
      @result = result
      super("#{result.rule.name}: #{result.verdict}")
    end
  end

  # Open the segment `name`, and create it if it is not there.
  def self.open(name = "default", **options)
    Segment.new(name, **options)
  end

  # A segment of this process alone, for tests.
  def self.open_private(**options)
    Segment.new("private", is_private: true, **options)
  end
end
