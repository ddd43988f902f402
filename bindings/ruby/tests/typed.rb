# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Hooks every call of the library, so that rbs judges what goes in and out by sig/rl.rbs (RL_SIG: by another); then plays
# README and each call that it does not have.
require "rbs"
require "rbs/test"
require "rl"
require "rl/cache_store"
require "rl/middleware"
require "rl/rack_attack"

loader = RBS::EnvironmentLoader.new
loader.add(path: Pathname(ENV.fetch("RL_SIG", File.expand_path("../sig", __dir__))))
tester = RBS::Test::Tester.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
RBS.logger_level = "error"
RBS::Test::Tester::MethodCallTester.prepend(Module.new do
  def call(receiver, trace)
    super
  rescue RBS::Test::Tester::TypeError => e
    raise "#{trace.method_name}: #{e.errors.map { |one| "#{one.class.name.split('::').last} #{RBS::Test::Errors.to_string(one)}" }.join('; ')}"
  end
end)
READERS = RL::Result.public_instance_methods(false) - %i[problem settle stream]
[RL::Error, RL::Segment, RL::Rule, RL::Result, RL::Counters, RL::Count, RL::Proxies, RL::Answers, RL::CacheStore,
 RL::RackAttackStore, RL::Middleware].each { |klass| tester.install!(klass, sample_size: 100, unchecked_classes: []) }

require_relative "readme"
TestReadme.undef_method(:test_every_call_of_a_rule_is_named) # hooks have names of their own

class TestTyped < Minitest::Test
  def setup
    @segment = RL.open_private(keys: 100)
    @rule = @segment.rule("r", "5/min")
  end

  def test_every_reader_of_a_result
    result = @rule.check("a", 1, now: Time.now, keep: true)
    READERS.each { |name| result.public_send(name) }
    assert_includes result.problem(429), "quota-exceeded"
    assert @rule.check("a", keep: true).settle(2)
    assert(@rule.spend("a", 1) { |spent| spent.settle(3) })
    @rule.check("a", keep: true).stream(%w[a b]) { 1 }.tap { |stream| stream.each { |chunk| chunk } }.close
  end

  def test_every_call_of_a_rule
    @segment.rule("b", "5/min", algorithm: :token_bucket).reserve("a", 1, max_wait: 1)
    [@rule.peek("a"), @rule.check!(:a), @rule.check_limits("a"), @rule.refund("a"), @rule.reset("a"), @rule.limits, @rule.stats, @rule.name,
     @rule.segment, @rule.inspect, @rule.allow?("a", 2)].each { |answer| refute_nil answer }
  end

  def test_every_call_of_a_segment
    item = [@rule, "a"]
    [@segment.info, @segment.bans, @segment.look, @segment.give_back, @segment.now_ns, @segment.rule_names, @segment.check_many([item, [@rule, "b", 2]]),
     @segment.check_all([item], keep: true).results, @segment.reset_matching, @segment.forget("r")].each { |answer| refute_nil answer }
    @segment.ban("k", for: 5)
    @segment.allow("k", until: Time.now + 5)
    assert_nil @segment.close
  end

  def test_every_call_of_counters
    counters = @segment.counters("c")
    counters.add("a", 1, 60).is_new
    [counters.set("a", 2), counters.set_new("a", 2), counters.touch("a", "1m"), counters.get("a"), counters.drop("a"), counters.reset("a")].each { |answer| refute_nil answer }
  end
end
