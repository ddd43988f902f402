# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Each method that is in C, with a collection at each allocation: it answers what it answers without. Keys are made
# anew, so that nobody else holds them: short ones, which Ruby keeps inside an object, and longer ones. Without gems,
# for each collection looks at all that is loaded.
require "rl"

NOW = 1_800_000_000_000_000_000

# What is text only when it is asked for.
Words = Struct.new(:text) do
  def to_str
    text + String.new
  end
end

# What a call is made on: anew for each, so that it answers the same each time.
class Stage
  attr_reader :web, :rule, :bucket, :jobs, :counters, :proxies, :items, :more

  def initialize
    @web = RL.open_private(keys: 64)
    @rule = @web.rule("r", limit: "9/h", algorithm: :anchored_window)
    @bucket = @web.rule("b", limit: "9/h", algorithm: :token_bucket)
    @jobs = @web.rule("j", algorithm: :in_flight, capacity: 9)
    @counters = @web.counters("c")
    @counters.set(key, 4, 60, now: NOW)
    @proxies = RL::Proxies.new(["10.0.0.0/8"])
    # Made beforehand, for what makes them leaves them on the stack, where the collector finds them.
    @items = [[rule, +"a", 2], [rule, key("b", "UTF-16LE"), 3, { capacity: 7 }]]
    @more = [[bucket, key * 50, 1], [rule, key, 1], [rule, :a], [rule, +"a", 2]]
  end

  def key(of = "k", encoding = "UTF-8")
    (of * 100).encode(encoding)
  end

  def result
    rule.check(key, 2, now: NOW)
  end

  def count
    counters.get(key, now: NOW)
  end

  def used(*of)
    of.map { |one| rule.peek(one, now: NOW).used }
  end
end

CALLS = {
  "RL.unlink" => ->(_) { RL.unlink("no/name") },
  "RL.key_digest" => ->(s) { RL.key_digest(s.key) },
  "RL.rate" => ->(_) { RL.rate("5/min") },
  "RL::Error.of" => ->(_) { RL::Error.of(Errno::ENOSPC::Errno, "r") },
  "RL::Error#errno" => ->(_) { RL::Error.of(22, "r").errno },
  "RL::Error#code" => ->(_) { RL::Error.of(22, "r").code },
  "RL::Segment#initialize" => ->(_) { RL.open_private(keys: 64, key_bytes: 0, on_full: :deny, events: 0, buffer: "1s", mode: 0o600) },
  "RL::Segment#close" => ->(s) { s.web.close },
  "RL::Segment#closed?" => ->(s) { s.web.closed? },
  "RL::Segment#now_ns" => ->(s) { s.web.now_ns > 2**60 },
  "RL::Segment#look" => ->(s) { s.web.look },
  "RL::Segment#give_back" => ->(s) { s.web.give_back },
  "RL::Segment#forget" => ->(s) { s.web.forget("r") },
  "RL::Segment#info" => ->(s) { s.web.info.merge(created_ns: 0) },
  "RL::Segment#rule_names" => ->(s) { s.web.rule_names },
  "RL::Segment#bans" => ->(s) { [s.web.ban(s.key, until: NOW + 9), s.web.bans(now: NOW)] },
  "RL::Segment#set_ban" => ->(s) { [s.web.ban(s.key("k", "UTF-16LE"), rule: s.rule, until: Time.at(2_000_000_000)), s.result.reason] },
  "RL::Segment#set_allow" => ->(s) { [s.web.allow("192.0.2.0/24", match: :network), s.rule.check("192.0.2.7").reason] },
  "RL::Segment#set_unban" => ->(s) { [s.web.ban(s.key), s.web.unban(s.key), s.web.unban(s.key)] },
  "RL::Segment#reset_many" => ->(s) { [s.result, s.web.reset_matching("kk", match: :prefix, rule: s.rule)] },
  "RL::Segment#decide_all" => ->(s) { [s.web.check_all(s.items, now: NOW, keep: true).results, s.used("a", s.key("b")), s.web.reserve_all([[s.bucket, s.key, 3]], max_wait: 5, now: NOW).results] },
  "RL::Segment#decide_many" => ->(s) { [s.web.check_many(s.items, now: NOW), s.web.check_many(s.more, now: NOW), s.used("a", s.key("b"), s.key)] },
  "RL::Rule.define" => ->(s) { s.web.rule("api", limits: [{ limit: "20/s" }, { capacity: 100, window: 86_400 }], algorithm: :fixed_window).limits },
  "RL::Rule.find" => ->(s) { s.web.rule("r") },
  "RL::Rule#name" => ->(s) { s.rule.name },
  "RL::Rule#segment" => ->(s) { s.rule.segment },
  "RL::Rule#limits" => ->(s) { s.rule.limits },
  "RL::Rule#stats" => ->(s) { [s.result, s.rule.stats] },
  "RL::Rule#check" => ->(s) { [s.rule.check(s.key("k", "UTF-16LE"), 2, capacity: 8, now: Time.at(1_800_000_000), keep: true), s.used(s.key)] },
  "RL::Rule#allow?" => ->(s) { Array.new(3) { s.rule.allow?(s.key, 4, now: NOW) } },
  "RL::Rule#peek" => ->(s) { [s.result, s.rule.peek(s.key, now: NOW)] },
  "RL::Rule#reserve" => ->(s) { Array.new(3) { s.bucket.reserve(s.key, 6, max_wait: "9h", now: NOW) } },
  "RL::Rule#check_limits" => ->(s) { s.rule.check_limits(s.key, 2, now: NOW) },
  "RL::Rule#refund" => ->(s) { [s.result, s.rule.refund(s.key, 2, now: NOW)] },
  "RL::Rule#reset" => ->(s) { [s.result, s.rule.reset(s.key)] },
  "RL::Result#refund" => ->(s) { s.rule.check(s.key, keep: true, now: NOW).refund(now: NOW) },
  "RL::Result#release" => ->(s) { s.jobs.check(s.key, keep: true).release },
  "RL::Result#settle" => ->(s) { s.rule.check(s.key, 2, keep: true, now: NOW).settle(1, now: NOW) },
  "RL::Result#holding?" => ->(s) { s.jobs.check(s.key, keep: true).then { |kept| [kept.holding?, kept.refund(holds: false), kept.release, kept.holding?] } },
  "RL::Result#headers" => ->(s) { s.result.headers(reset: :unix) },
  "RL::Result#problem" => ->(s) { s.result.problem(429) },
  "RL::Counters.open" => ->(s) { s.web.counters("more") },
  "RL::Counters#name" => ->(s) { s.counters.name },
  "RL::Counters#segment" => ->(s) { s.counters.segment },
  "RL::Counters#add" => ->(s) { s.counters.add(s.key, 3, 0.5, now: NOW) },
  "RL::Counters#get" => ->(s) { s.counters.get(s.key, now: NOW) },
  "RL::Counters#set" => ->(s) { [s.counters.set(s.key("k", "UTF-16LE"), 7, "1h", now: NOW), s.count] },
  "RL::Counters#set_new" => ->(s) { s.counters.set_new(s.key("d"), 5, 60, now: NOW) },
  "RL::Counters#touch" => ->(s) { s.counters.touch(s.key, Rational(1, 2), now: NOW) },
  "RL::Counters#drop" => ->(s) { s.counters.drop(s.key, now: NOW) },
  "RL::Counters#reset" => ->(s) { s.counters.reset(s.key) },
  "RL::Proxies#initialize" => ->(_) { RL::Proxies.new([Words.new("10.0.0.0/8")], field: "forwarded", prefix_v6: 64).find("10.0.0.1", "for=192.0.2.7") },
  "RL::Proxies#find" => ->(s) { s.proxies.find(Words.new("10.0.0.1"), %w[203.0.113.7 10.0.0.3 10.0.0.4].map { |line| Words.new(line) }) }
}
%i[verdict reason error shadow_denied? allowed? denied? pass? rule index limit remaining used retry_after retry_after_ns
   reset_after reset_after_ns delay delay_ns window window_ns].each { |name| CALLS["RL::Result##{name}"] = ->(s) { s.result.public_send(name) } }
%i[done value expires_after_ns is_new].each { |name| CALLS["RL::Count##{name}"] = ->(s) { s.count.public_send(name) } }

# What is compared of an answer.
def plain(answer)
  case answer
  when RL::Result then [answer.verdict, answer.used, answer.remaining, answer.rule.name]
  when RL::Count then [answer.done, answer.value, answer.expires_after_ns]
  when RL::Rule, RL::Counters then answer.name
  when RL::Segment then answer.info[:name]
  when Exception then [answer.class, answer.message]
  when Array then answer.map { |one| plain(one) }
  else answer
  end
end

def answer_of(call, stage, stress)
  GC.stress = stress
  call.call(stage)
rescue StandardError => e
  e
ensure
  GC.stress = false
end

# Methods of the extension have no line of Ruby.
def in_c(names, sign)
  names.select { |name| yield(name).source_location.nil? }.map { |name| "#{sign}#{name}" }
end

def found_in_c
  ([RL] + RL.constants.map { |name| RL.const_get(name) }.grep(Module) - [RL::Answers]).flat_map do |of|
    in_c(of.singleton_methods(false), "#{of}.") { |name| of.method(name) } +
      in_c(of.instance_methods(false) + of.private_instance_methods(false), "#{of}#") { |name| of.instance_method(name) }
  end
end

wrong = (found_in_c - CALLS.keys).map { |name| "#{name} is called by nobody" } + (CALLS.keys - found_in_c).map { |name| "there is no #{name}" }
calm = CALLS.transform_values { |call| plain(answer_of(call, Stage.new, false)) }
CALLS.each do |name, call|
  stressed = plain(answer_of(call, Stage.new, true))
  wrong << "#{name}: #{stressed.inspect}, not #{calm[name].inspect}" if stressed != calm[name]
end
abort wrong.join("\n") unless wrong.empty?
puts "#{CALLS.size} calls"
