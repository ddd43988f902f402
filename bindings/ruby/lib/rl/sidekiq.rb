# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require "rl"
require "sidekiq"

module RL
  # Limits for jobs of Sidekiq: all workers of a host together keep them, and who has to wait is scheduled for later.
  #
  #   Sidekiq.configure_server do |config|
  #     config.server_middleware { |chain| chain.add RL::SidekiqMiddleware, "default" }
  #   end
  #
  #   class Fetch
  #     include Sidekiq::Worker
  #     sidekiq_options rl: { "rule" => "weather", "limit" => "20/s" }
  #
  #   class Report
  #     include Sidekiq::Worker
  #     sidekiq_options rl: { "rule" => "reports", "algorithm" => "in_flight", "capacity" => 2, "key" => 0 }
  #
  # `key` is text, the number of an argument of perform, or callable with the arguments; without it all jobs of the rule
  # count together. Other fields define the rule as Segment#rule does; without any it is one that is configured. A rate of
  # which no algorithm is said is a token_bucket with a burst of 1. A bucket books a turn; under other rules, and for a unit
  # in flight, the job asks again. What is in flight is held while the job runs, and comes back when its worker is killed.
  # Raises RL::Denied for what is never let through; what cannot be decided is as the segment's `on_error` says.
  class SidekiqMiddleware
    TURN = "rl_turn" # in a job: retries(job) when it had its turn

    # `sleeps`: seconds that a worker sleeps at most, for less than that no job is scheduled; `poll`: seconds until a job
    # asks for a unit in flight again; `max_wait`: how many seconds ahead a turn is booked at most.
    def initialize(segment = "default", sleeps: 0.25, poll: 0.25, max_wait: 600)
      @segment = segment.is_a?(String) ? RL.open(segment) : segment
      @sleeps = sleeps
      @poll = poll
      @max_wait = max_wait
      @rules = {}
    end

    def call(worker, job, _queue)
      how = worker.class.get_sidekiq_options["rl"]
      return yield if how.nil? || job[TURN] == retries(job)

      rule, is_bucket = rule_of(how.transform_keys(&:to_s))
      key = key_of(how.transform_keys(&:to_s)["key"], job["args"])
      loop do
        result = ask(rule, is_bucket, key)
        wait = wait_of(result)
        return later(job, wait, result) if wait > @sleeps

        sleep(wait)
        next unless result.pass?

        begin
          return yield
        ensure
          result.release
        end
      end
    end

    private

    # Sidekiq counts the first retry as 0, and has no count before.
    def retries(job)
      job["retry_count"] || -1
    end

    def rule_of(how)
      @rules[how] ||= begin
        fields = how.reject { |name, _| %w[rule key].include?(name) }.transform_keys(&:to_sym)
        fields = { algorithm: "token_bucket", burst: 1 }.merge(fields) if fields.key?(:limit) && !fields.key?(:algorithm)
        rule = @segment.rule(how.fetch("rule"), **fields)
        [rule, rule.limits.all? { |limit| %w[token_bucket leaky_bucket].include?(limit[:algorithm].to_s) }]
      end
    end

    def key_of(key, arguments)
      case key
      when nil then "all"
      when Integer then arguments.fetch(key).to_s
      when String then key
      else key.call(*arguments).to_s
      end
    end

    def ask(rule, is_bucket, key)
      result = is_bucket ? rule.reserve(key, max_wait: @max_wait) : rule.check(key, keep: true)
      raise Denied, result if result.verdict == :never || result.retry_after == Float::INFINITY

      result
    end

    # Seconds until its turn, or until it asks again: not all at the same time.
    def wait_of(result)
      return result.delay if result.pass?

      wait = result.retry_after
      (wait.nil? || wait.zero? ? @poll : [wait, @max_wait].min) * (1 + rand / 2)
    end

    def later(job, wait, result)
      turn = result.pass? ? { TURN => retries(job) } : {}
      ::Sidekiq::Client.push(job.merge(turn, "at" => Time.now.to_f + wait))
      nil
    end
  end
end
