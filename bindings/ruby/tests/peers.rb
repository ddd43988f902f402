# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Puts the store of rl in the place of ActiveSupport's MemoryStore, with the suite's own time, and says which
# tests fail beside those that are excepted.
require "active_support"
require "active_support/cache"
require "rl/rack_attack"
require "minitest"

ActiveSupport::Cache::MemoryStore.define_singleton_method(:new) do |*|
  RL::RackAttackStore.new(RL.open_private(keys: 1000), clock: -> { Time.now })
end

# Counts, and judges by the list.
class Judge < Minitest::StatisticsReporter
  EXCEPTIONS = File.readlines(ENV.fetch("RL_PEERS_EXCEPTIONS"), chomp: true).grep_v(/\A(#|\z)/).map { |line| line.split("\t", 2) }

  def record(result)
    super
    @seen ||= []
    return if result.passed? || result.skipped?

    name = "#{result.klass}##{result.name}"
    reason = EXCEPTIONS.find { |part, _| name.include?(part) }
    @seen << reason&.first
    puts reason ? "excepted: #{name}: #{reason.last}" : "FAILED: #{name}: #{result.failures.first.message}"
    @bad = true unless reason
  end

  def report
    super
    puts "#{count} tests, #{(@seen || []).size} failed, #{skips} skipped"
    idle.each { |part| puts "an exception that excepts nothing: #{part}" }
  end

  def idle
    EXCEPTIONS.map(&:first) - (@seen || [])
  end

  def passed?
    !@bad && idle.empty? && count >= ENV.fetch("RL_PEERS_LEAST", "100").to_i
  end
end

module Minitest
  def self.plugin_rl_init(_options)
    reporter.reporters.replace([Judge.new])
  end
  extensions << "rl"
end
