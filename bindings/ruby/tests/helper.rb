# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What the tests share: segments of their own, and rlctl.
require "json"
require "minitest/autorun"
require "open3"
require "tmpdir"
require "rl"

module Segments
  # A name that no other test has. The segment is removed after the test.
  def segment_name
    @segment_names ||= []
    @segment_names << "ruby-test-#{Process.pid}-#{object_id}-#{@segment_names.size}"
    @segment_names.last
  end

  def teardown
    (@segment_names || []).each do |name|
      RL.unlink(name)
    rescue RL::Error => e
      raise unless e.code == "ENOENT"
    end
    super
  end

  # What rlctl says, and how it ends.
  def rlctl(name, *args)
    out, status = Open3.capture2e(ENV.fetch("RLCTL"), "--segment", name, *args)
    [out, status.exitstatus]
  end
end

# A time that stands still, but for what is added.
class FakeClock
  attr_accessor :time

  def initialize
    @time = Time.at(1_800_000_000)
  end

  def call
    @time
  end

  def +(seconds)
    @time += seconds
  end
end
