# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Plays bindings/table.json: the calls that every binding makes, and the answers that it gets.
require_relative "helper"
require "json"

class Player
  NS = /_ns\z/
  FIELDS = %w[capacity granularity hard burst undelayed shadow prefix_v4 prefix_v6 prefetch count_denied].freeze

  def initialize(test_case)
    options = (test_case["options"] || {}).transform_keys(&:to_sym)
    @segment = RL.open_private(keys: 1000, **options)
    @rules = {}
    @kept = {}
    (test_case["spaces"] || []).each { |name| @segment.counters(name) }
    (test_case["rules"] || []).each { |rule| define(rule) }
  end

  def close
    @segment.close
  end

  def play(step)
    send("play_#{step['call']}", step)
  rescue RL::Error => e
    { "error" => e.code, "text" => e.message }
  rescue ArgumentError => e
    { "error" => "EINVAL", "text" => e.message }
  end

  # What text an answer has only where the table has one.
  def self.same?(want, got)
    got = got.except("text") if got.key?("error") && !want.key?("text")
    want == got
  end

  private

  def ns(text)
    return 0 unless text

    text == "never" ? nil : Integer(text, 10)
  end

  def window(text)
    text == "never" ? "never" : nil
  end

  def limit_of(limit)
    fields = limit.slice(*FIELDS).transform_keys(&:to_sym)
    fields[:algorithm] = limit["algorithm"]
    if limit["window_ns"] == "never"
      fields[:window] = "never"
    elsif limit["window_ns"]
      fields[:window_ns] = ns(limit["window_ns"])
    end
    fields[:granularity] ||= 1 if limit["algorithm"] == "sliding_window"
    fields
  end

  def define(rule)
    @rules[rule["name"]] = @segment.rule(rule["name"], limits: rule["limits"].map { |l| limit_of(l) }, keep: rule["keep"] || false)
  end

  def rule(name)
    @rules[name] || @segment.rule(name)
  end

  def key(step)
    return [step["key_hex"]].pack("H*") if step["key_hex"]

    (step["key"] || "") * (step["times"] || 1)
  end

  def text_ns(number)
    number == RL::NEVER_NS ? "never" : number.to_s
  end

  def put(answer, name, number)
    answer[name] = name.match?(NS) ? text_ns(number) : number unless number.zero?
  end

  def result(result)
    answer = { "verdict" => result.verdict.to_s }
    answer["error"] = result.error if result.error
    answer["reason"] = result.reason.to_s unless result.reason == :limit
    return answer if result.verdict == :undecided

    answer["is_shadow_denied"] = 1 if result.shadow_denied?
    %w[index limit remaining used retry_after_ns reset_after_ns delay_ns window_ns].each do |name|
      put(answer, name, result.public_send(name))
    end
    answer
  end

  def options(step)
    %w[capacity burst undelayed].filter_map { |n| [n.to_sym, step[n]] if step[n] }.to_h.merge(now: ns(step["at_ns"]))
  end

  def keep(step, answer)
    @kept[step["request"]] = answer if step["request"]
    @last = answer
    result(answer)
  end

  def undecided
    { "verdict" => "undecided", "error" => "EINVAL" }
  end

  # Nobody can ask a rule that is not there, nor counters as a rule.
  def asked(step)
    rule(step["rule"])
  rescue RL::Error
    nil
  end

  def play_check(step)
    return undecided unless (rule = asked(step))

    keep(step, rule.check(key(step), step["cost"] || 1, **options(step), keep: step.key?("request")))
  end

  def play_peek(step)
    keep(step, rule(step["rule"]).peek(key(step), now: ns(step["at_ns"])))
  end

  def play_reserve(step)
    keep(step, rule(step["rule"]).reserve(key(step), step["cost"] || 1, max_wait: ns(step["max_wait_ns"]) / 1e9, **options(step)))
  end

  def play_check_limits(step)
    answer, each = rule(step["rule"]).check_limits(key(step), step["cost"] || 1, **options(step))
    result(answer).merge("limits" => each.map { |one| result(one) })
  end

  def items(step)
    step["items"].map { |item| [rule(item["rule"]), key(item), item["cost"] || 1, options(item).except(:now)] }
  end

  def play_check_all(step)
    answers = @segment.check_all(items(step), now: ns(step["at_ns"]))
    answer = { "verdict" => answers.verdict.to_s, "results" => answers.results.map { |r| result(r) } }
    answer["decided"] = answers.decided if answers.decided
    answer
  end

  def play_check_many(step)
    { "results" => @segment.check_many(items(step), now: ns(step["at_ns"])).map { |r| result(r) } }
  end

  def done(value)
    { "done" => value == true ? 1 : value || 0 }
  end

  def play_refund(step)
    done(@kept.fetch(step["request"]).refund(now: ns(step["at_ns"])))
  end

  def play_release(step)
    done(@kept.fetch(step["request"]).release)
  end

  def play_settle(step)
    done(@kept.fetch(step["request"]).settle(step["actual"], now: ns(step["at_ns"])))
  end

  def play_refund_key(step)
    done(rule(step["rule"]).refund(key(step), step["cost"] || 1, **options(step)))
  end

  def space(step)
    @segment.counters(step["space"], create: false)
  end

  def lifetime(step)
    step["lifetime_ns"] == "never" ? nil : Rational(ns(step["lifetime_ns"]), 1_000_000_000)
  end

  def count(count)
    answer = done(count.done)
    put(answer, "value", count.value)
    put(answer, "expires_after_ns", count.expires_after_ns)
    answer["is_new"] = 1 if count.is_new
    answer
  end

  def play_counter_add(step)
    count(space(step).add(key(step), step["value"] || 0, lifetime(step), now: ns(step["at_ns"])))
  end

  def play_counter_get(step)
    count(space(step).get(key(step), now: ns(step["at_ns"])))
  end

  def play_counter_set(step)
    count(space(step).set(key(step), step["value"] || 0, lifetime(step), now: ns(step["at_ns"])))
  end

  def play_counter_set_new(step)
    count(space(step).set_new(key(step), step["value"] || 0, lifetime(step), now: ns(step["at_ns"])))
  end

  def play_counter_touch(step)
    count(space(step).touch(key(step), lifetime(step), now: ns(step["at_ns"])))
  end

  def play_counter_drop(step)
    done(space(step).drop(key(step), now: ns(step["at_ns"])))
  end

  def pattern(step)
    { match: (step["match"] || "key").to_sym, rule: step["rule"] && rule(step["rule"]) }
  end

  def play_ban(step)
    @segment.ban(key(step), until: ns(step["until_ns"]), **pattern(step))
    done(0)
  end

  def play_allow(step)
    @segment.allow(key(step), until: ns(step["until_ns"]), **pattern(step))
    done(0)
  end

  def play_unban(step)
    done(@segment.unban(key(step), **pattern(step)))
  end

  def play_reset(step)
    of = @rules[step["rule"]] || @segment.counters(step["rule"], create: false)
    done(of.reset(key(step)))
  end

  def play_reset_matching(step)
    of = step["rule"] && rule(step["rule"])
    forgotten, unknown = step["match"] ? @segment.reset_matching(key(step), rule: of, match: step["match"].to_sym) : @segment.reset_matching(rule: of)
    answer = done(0)
    put(answer, "forgotten", forgotten)
    put(answer, "unknown", unknown)
    answer
  end

  def play_define(step)
    define(step["define"].merge("keep" => step["define"]["keep"]))
    done(0)
  end

  def play_forget(step)
    done(@segment.forget(step["rule"]))
  end

  def play_key_digest(step)
    { "text" => RL.key_digest(key(step)) }
  end

  def play_headers(step)
    @last.headers(reset: :unix, set: step["set"])
  end

  def play_client(step)
    bits = { prefix_v4: step["prefix_v4"], prefix_v6: step["prefix_v6"] }
    proxies = RL::Proxies.new(step["trusted"], field: step["field"], **bits)
    address, finish, hops = proxies.find(step["peer"], step["lines"])
    { "address" => address, "end" => finish.to_s, "hops" => hops }
  end

  def play_rate(step)
    capacity, window_ns = RL.rate(step["rate"])
    { "capacity" => capacity, "window_ns" => window_ns.to_s }
  end
end

class TestTable < Minitest::Test
  TABLE = JSON.parse(File.read(ENV.fetch("RL_TABLE")))

  TABLE["cases"].each_with_index do |test_case, number|
    define_method("test_#{number} #{test_case['name']}") do
      player = Player.new(test_case)
      test_case["steps"].each_with_index do |step, i|
        got = player.play(step)
        assert Player.same?(step["answer"], got), "step #{i}: #{step.to_json}\n got #{got.to_json}"
      end
      player.close
    end
  end

  def test_it_is_not_empty
    assert_operator TABLE["cases"].sum { |c| c["steps"].size }, :>, 300
  end
end
