# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# RL::SidekiqMiddleware without Redis. With workers: bindings/common/tests/jobs/run.py.
require_relative "helper"
require "rl/sidekiq"

class TestSidekiq < Minitest::Test
  def setup
    @web = RL.open_private(keys: 1000, ring: 64)
    @middleware = RL::SidekiqMiddleware.new(@web, poll: 30)
    @sent = sent = []
    client = Sidekiq::Client.singleton_class
    client.send(:alias_method, :rl_push, :push)
    client.send(:define_method, :push) { |job| sent << job }
  end

  def teardown
    client = Sidekiq::Client.singleton_class
    client.send(:alias_method, :push, :rl_push)
    super
  end

  # What the job says, or nil: it was sent again.
  def run_job(how, job = {}, &body)
    worker = Class.new { define_singleton_method(:get_sidekiq_options) { { "rl" => how } } }.new
    @middleware.call(worker, { "jid" => "a", "args" => [7] }.merge(job), "default", &body || -> { :done })
  end

  def test_a_turn_is_booked_and_charged_once
    how = { "rule" => "rate", "limit" => "2/min" }
    assert_equal :done, run_job(how)
    assert_nil run_job(how)
    assert_nil run_job(how)
    waits = @sent.map { |job| job["at"] - Time.now.to_f }
    assert_in_delta 30, waits[0], 20
    assert_in_delta 60, waits[1], 20
    assert_equal "a", @sent[0]["jid"]
    allowed = @web.rule("rate").stats[:allowed]
    assert_equal :done, run_job(how, @sent[0])
    assert_equal allowed, @web.rule("rate").stats[:allowed]
    assert_nil run_job(how, @sent[0].merge("retry_count" => 0)), "its own retry is charged anew"
  end

  def test_in_flight_is_held_while_it_runs
    how = { "rule" => "one", "algorithm" => "in_flight", "capacity" => 1, "key" => 0 }
    assert_equal(:done, run_job(how) do
      assert_nil run_job(how)
      assert_equal :done, run_job(how, "args" => [8])
      :done
    end)
    assert_in_delta 30, @sent.last["at"] - Time.now.to_f, 20
    assert_raises(KeyError) { run_job(how) { raise KeyError } }
    assert_equal :done, run_job(how)
  end

  def test_others
    worker = Class.new { define_singleton_method(:get_sidekiq_options) { {} } }.new
    assert_equal :done, @middleware.call(worker, {}, "default") { :done }
    how = { "rule" => "banned", "limit" => "1/s", "key" => ->(number) { "user-#{number}" } }
    assert_equal :done, run_job(how)
    @web.ban("user-7")
    assert_raises(RL::Denied) { run_job(how) }
    assert_raises(RL::Error) { run_job({ "rule" => "nosuch" }) }
  end
end
