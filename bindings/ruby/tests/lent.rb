# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# A share of a cluster's limit is waited for where the limit says so: run by tests/support/lent.py, beside a store and rld.
require_relative "helper"

class TestLent < Minitest::Test
  STORE = Integer(ENV.fetch("RL_LENT_STORE"))

  def setup
    @segment = RL.open(ENV.fetch("RL_LENT_SEGMENT"), existing: true)
    @five = @segment.rule("five")
  end

  # Nothing is lent meanwhile.
  def without_store
    Process.kill("STOP", STORE)
    yield
  ensure
    Process.kill("CONT", STORE)
  end

  # A busy machine may keep a share from being lent within the second of a wait: of ten keys with one it is.
  def in_time(name)
    10.times do |attempt|
      return yield "#{name}#{attempt}"
    rescue Minitest::Assertion
      raise if attempt == 9
    end
  end

  def five_of_five(name)
    in_time(name) { |key| assert_equal [true] * 5 + [false], (Array.new(6) { yield key }) }
  end

  def test_five_of_five
    five_of_five("a") { |key| @five.check(key).allowed? }
    five_of_five("b") { |key| @five.allow?(key) }
    five_of_five("c") { |key| @five.check_limits(key).first.allowed? }
    five_of_five("d") { |key| @segment.check_all([[@five, key], [@segment.rule("unasked"), "d"]]).allowed? }
  end

  def test_threads_wait_at_once
    in_time("e") { |key| assert_equal 5, Array.new(8) { Thread.new { @five.check(key).allowed? } }.count(&:value) }
  end

  def test_nobody_sleeps_unless_the_limit_says_so
    %w[usual none].each do |name|
      result = @segment.rule(name).check("f")
      assert_equal [:share, 0], [result.reason, result.delay]
    end
  end

  def other_threads_run(key)
    turns = 0
    without_store do
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      asked = Thread.new { @five.check(key).allowed? }
      turns += 1 until asked.join(0.01)
      refute asked.value
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      assert_operator took, :>=, 0.99
    end
    assert_operator turns, :>, 10
  end

  def test_other_threads_run_and_a_sleep_ends
    in_time("g") { |key| other_threads_run(key) }
  end

  def interrupted(name)
    key = name.dup
    without_store do
      asked = Thread.new { @five.check(key) }
      asked.report_on_exception = false
      asked.join(0.05)
      key.replace("i" * 100) # not what was asked about
      asked.kill.join
    end
    assert_equal [true] * 5 + [false], (Array.new(6) { @five.check(name).allowed? })
    assert_equal 0, @five.peek("i" * 100).used
  end

  def test_one_that_is_interrupted_was_not_charged
    in_time("h") { |name| interrupted(name) }
  end

  def closed_meanwhile(key)
    segment = RL.open(ENV.fetch("RL_LENT_SEGMENT"), existing: true)
    five = segment.rule("five")
    without_store do
      asked = Thread.new { five.check(key) }
      asked.report_on_exception = false
      asked.join(0.05)
      segment.close
      assert_equal "EBADF", assert_raises(RL::Error) { asked.value }.code
    end
  end

  def test_a_segment_that_is_closed_meanwhile
    in_time("j") { |key| closed_meanwhile(key) }
  end
end
