# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# The native calls: arguments, errors, processes, segments that go away. What librl answers is in table.rb.
require_relative "helper"

class TestNative < Minitest::Test
  include Segments
  T0 = 1_800_000_000_000_000_000
  S = 1_000_000_000

  def private_segment(**options)
    RL.open_private(keys: 1000, **options)
  end

  def test_a_limit_of_three
    rule = private_segment.rule("login", "3/hour")
    assert_equal [true, true, true, false, false], Array.new(5) { rule.allow?("alice") }
    assert rule.allow?("bob")
    result = rule.check("alice")
    assert result.denied?
    assert_operator result.retry_after, :>, 0
    assert_equal 0, result.remaining
    assert_equal ["#<RL::Result denied by login, 0 of 3 remaining>", "#<RL::Result allowed by login, RL_EEMPTY>"], [result.inspect, rule.check("").inspect]
  end

  def test_text_has_the_defaults_of_rl_json
    web = private_segment
    limit = web.rule("a", "5/min").limits.first
    assert_equal ["sliding_window", 5, 60 * S, 60, true], limit.values_at(:algorithm, :capacity, :window_ns, :granularity, :hard)
    assert_equal [6, false], web.rule("b", "5/min", granularity: "10s").limits.first.values_at(:granularity, :hard)
    assert_equal [50, true], web.rule("c", "5/50s").limits.first.values_at(:granularity, :hard)
    assert_equal 30, RL.open_private(keys: 10, ring: 32).rule("d", "5/min").limits.first[:granularity]
    assert_equal 64, RL.open_private(keys: 10).info[:ring]
    error = assert_raises(RL::Error) { RL.open_private(keys: 10, ring: 1).rule("d", "5/min") }
    assert_match(/limit.granularity: 60; .* 'rlctl resize --ring 60'/, error.message)
  end

  def test_rl_json_and_ruby_agree_on_each_default
    name = segment_name
    web = RL.open(name, keys: 100)
    %w[5/min 7/s 9/90s 300/5min 2/10ms 1/1h30m 4/d 3/61s].each_with_index do |limit, i|
      web.rule("ruby-#{i}", limit)
      config = "#{name}.json"
      Dir.mktmpdir do |dir|
        path = File.join(dir, config)
        File.write(path, JSON.dump("segment" => { "name" => name }, "rules" => { "json" => { "limit" => limit } }))
        out, status = rlctl(name, "config", "reload", "--config", path)
        assert_equal 0, status, out
      end
      assert_equal web.rule("json").limits, web.rule("ruby-#{i}").limits, limit
    end
  end

  def test_durations_are_seconds_or_text
    web = private_segment
    { 60 => 60 * S, 0.5 => S / 2, "1h30m" => 5400 * S, Rational(1, 4) => S / 4 }.each do |window, ns|
      assert_equal ns, web.rule("r", capacity: 1, algorithm: :fixed_window, window: window).limits.first[:window_ns]
    end
    assert_equal RL::NEVER_NS, web.rule("n", capacity: 1, algorithm: "anchored_window", window: "never").limits.first[:window_ns]
  end

  def test_several_limits_inherit
    limits = private_segment.rule("api", limits: [{ limit: "20/s" }, { limit: "100/d", shadow: true }], algorithm: :fixed_window).limits
    assert_equal %w[fixed_window fixed_window], limits.map { |l| l[:algorithm] }
    assert_equal [20, 100], limits.map { |l| l[:capacity] }
    assert_equal [false, true], limits.map { |l| l[:shadow] }
  end

  BAD = {
    { limit: "5/fortnight" } => /limit: expected a rate/,
    { limit: 5 } => /limit: expected a rate.*got 5/,
    { capacity: -1, window: 1 } => /capacity: expected an integer/,
    { capacity: 1.5, window: 1 } => /capacity: expected an integer/,
    { capacity: 0, window: 1, algorithm: :fixed_window } => /limit.capacity: 0/,
    { capacity: 1, window: "soon" } => /window: expected a duration/,
    { limit: "1/s", algorithm: :magic } => /algorithm: expected "sliding_window", /,
    { limit: "1/s", hard: "yes" } => /hard: expected true or false/,
    { limit: "1/s", colour: 1 } => /colour: a limit has no such field/,
    { limit: "1/min", granularity: "7s" } => /granularity: its length divides/,
    { limit: "1/min", mode: "off" } => /mode: expected "enforce" or "shadow"/,
    { limits: [] } => /limits: none; 1 to 8/,
    { limits: [{ limit: "1/s" }] * 9 } => /more_count: 8; at most 7 further/
  }.freeze

  def test_a_bad_definition_names_what_is_wrong
    BAD.each do |fields, text|
      error = assert_raises(ArgumentError) { private_segment.rule("r", **fields) }
      assert_match text, error.message
    end
  end

  def test_bad_arguments
    web = private_segment
    rule = web.rule("r", "5/min")
    [nil, 1, [], {}].each { |key| assert_raises(TypeError) { rule.check(key) } }
    assert_raises(ArgumentError) { rule.check }
    assert_raises(ArgumentError) { rule.check("a", -1) }
    assert_raises(TypeError) { rule.check("a", 1.5) }
    assert_raises(ArgumentError) { rule.check("a", 2**64) }
    assert_raises(ArgumentError) { rule.check("a", colour: 1) }
    assert_raises(ArgumentError) { rule.check("a", capacity: -3) }
    assert_raises(ArgumentError) { rule.check("a", now: -1) }
    assert_raises(TypeError) { rule.check("a", now: "noon") }
    assert_raises(ArgumentError) { web.ban("a", match: :regex) }
    assert_raises(ArgumentError) { web.ban("a", for: 1, until: 2) }
    assert_raises(ArgumentError) { web.check_all([]) }
    assert_raises(TypeError) { web.check_all([[rule, "a", 1, 5]]) }
    assert_raises(TypeError) { web.check_all([rule]) }
    assert_raises(TypeError) { web.check_many([["r", "a"]]) }
    assert_raises(ArgumentError) { web.check_all([[rule, "a"]] * 33) }
    assert_raises(ArgumentError) { web.check_all([[private_segment.rule("r", "5/min"), "a"]]) }
    bad = assert_raises(RL::Error) { RL.open("a/b") }
    assert_equal ["EINVAL", "segment a/b: a name has 1 to 63 letters, digits and . _ -"], [bad.code, bad.message]
    assert_raises(ArgumentError) { RL.open("x", colour: 1) }
    assert_raises(ArgumentError) { RL.open("x", on_full: :explode) }
    assert_raises(TypeError) { RL::Rule.new }
  end

  def test_keys_are_bytes_and_text_is_utf8
    rule = private_segment.rule("r", "1/h")
    assert rule.allow?("größe")
    refute rule.allow?("größe".encode("ISO-8859-1"))
    refute rule.allow?("größe".encode("UTF-16LE"))
    refute rule.allow?("größe".b)
    assert rule.allow?("a\0b".b)
    assert rule.allow?("a\0c".b)
    assert rule.allow?(:alice)
    refute rule.allow?("alice")
    assert rule.allow?("\xff\xfe".b)
    assert rule.allow?("x" * 5000)
    refute rule.allow?(RL.key_digest("x" * 5000))
  end

  def test_an_empty_key_is_not_let_through_in_silence
    { raise: nil, allow: true, deny: false }.each do |policy, passes|
      rule = private_segment(on_error: policy).rule("r", "1/h")
      assert_equal "RL_EEMPTY", rule.check("").error
      assert_raises(RL::Error) { rule.allow?("") } if passes.nil?
      assert_equal passes, rule.allow?("") unless passes.nil?
    end
  end

  def test_an_undecided_request_is_the_callers_choice
    name = segment_name
    RL.open(name, keys: 100).rule("r", "1/h")
    { raise: nil, allow: true, deny: false }.each do |policy, passes|
      rule = RL.open(name, readonly: true, on_error: policy).rule("r")
      assert_equal [:undecided, "EROFS"], [rule.check("a").verdict, rule.check("a").error]
      assert_equal "EROFS", assert_raises(RL::Error) { rule.allow?("a") }.code if passes.nil?
      assert_equal passes, rule.allow?("a") unless passes.nil?
    end
  end

  def test_refund_and_what_kept_no_charges
    rule = private_segment.rule("r", "1/h")
    kept = rule.check("a", keep: true)
    refute rule.allow?("a")
    assert kept.refund
    refute kept.refund
    result = rule.check("a")
    assert_raises(RuntimeError) { result.refund }
  end

  def test_what_a_request_has_cost_is_said_once
    rule = private_segment.rule("tokens", "100/h")
    less, more = rule.check("a", 40, keep: true), rule.check("a", 10, keep: true)
    assert less.settle(15)
    assert_equal 25, rule.peek("a").used
    assert more.settle(110)
    seen = rule.peek("a")
    assert_equal [125, 0, false], [seen.used, seen.remaining, seen.allowed?]
    assert_equal "RL_ESETTLED", assert_raises(RL::Error) { less.settle(15) }.code
    assert_raises(ArgumentError, RL::Error, RangeError) { rule.check("b", 1, keep: true).settle(-1) }
    assert_raises(RuntimeError) { rule.check("c").settle(1) }
  end

  def test_what_a_block_spends
    rule = private_segment.rule("llm", limits: [{ limit: "100/h" }, { algorithm: :in_flight, capacity: 1, counts: :requests }])
    used = -> { rule.check_limits("a", 0).last.map(&:used) }
    said = rule.spend("a", 40) do |spent|
      assert_equal [40, 1], used.call
      assert_raises(RL::Denied) { rule.spend("a") { flunk } }
      spent.settle(10)
      "said"
    end
    assert_equal ["said", [10, 0]], [said, used.call]
    assert_raises(ZeroDivisionError) { rule.spend("a", 20) { 1 / 0 } }
    assert_equal [30, 0], used.call
  end

  def test_a_stream_costs_what_was_taken_of_it
    rule = private_segment.rule("llm", limits: [{ limit: "100/h" }, { algorithm: :in_flight, capacity: 1, counts: :requests }])
    ask = ->(chunks) { rule.check!("a", 40, keep: true).stream(chunks, &:size) }
    used = -> { rule.check_limits("a", 0).last.map(&:used) }
    taken = []
    ask.call(%w[one three]).each { |chunk| taken << chunk }
    assert_equal [%w[one three], [8, 0]], [taken, used.call]
    assert_raises(IOError) { ask.call(%w[one three five]).each { |chunk| raise IOError if chunk == "three" } }
    assert_equal [16, 0], used.call
    body = ask.call(file = StringIO.new("unread"))
    assert_equal [56, 1], used.call
    body.close
    assert_equal [true, [56, 0]], [file.closed?, used.call]
  end

  def test_hold
    rule = private_segment.rule("jobs", algorithm: :in_flight, capacity: 2)
    rule.hold("a") do
      rule.hold("a") { assert_equal :denied, assert_raises(RL::Denied) { rule.hold("a") { flunk } }.result.verdict }
      assert_equal 1, rule.peek("a").used
      assert_raises(ZeroDivisionError) { rule.hold("a") { 1 / 0 } }
      assert_equal 1, rule.peek("a").used
    end
    assert_equal 0, rule.peek("a").used
  end

  def test_what_a_killed_process_held_comes_back
    name = segment_name
    rule = RL.open(name, keys: 100).rule("jobs", algorithm: :in_flight, capacity: 1)
    reader, writer = IO.pipe
    pid = fork do
      _held = rule.check("a", keep: true)
      writer.puts "held"
      sleep
    end
    reader.gets
    refute rule.check("a", keep: true).allowed?
    Process.kill(:KILL, pid)
    Process.wait(pid)
    taken = nil
    600.times { (taken = rule.check("a", keep: true)).allowed? ? break : sleep(0.05) }
    assert_equal 1, rule.peek("a").used
    refute rule.check("a", keep: true).allowed?
    assert taken.release
  end

  # Of ten, for a word that is left on the stack may be taken for an object.
  def test_what_is_dropped_is_given_back
    rule = private_segment.rule("jobs", algorithm: :in_flight, capacity: 10)
    body = Enumerator.new { |out| rule.hold("a") { out << 1 } }
    [-> { rule.check("a", keep: true) }, -> { Fiber.new { rule.hold("a") { Fiber.yield } }.resume }, -> { body.dup.next }].each do |drop|
      Thread.new { 10.times { drop.call } }.join
      assert_equal 10, rule.peek("a").used
      GC.start
      assert_operator rule.peek("a").used, :<, 5
      rule.reset("a")
    end
  end

  # The memory of results that were collected is that of later ones, and of none that is still there.
  def test_what_is_kept_stays_what_it_was
    rule = private_segment.rule("many", capacity: 100_000, window: 3600)
    kept = (1..6_000).map { |i| [i, rule.check("a")] }.select { |i, _| (i % 7).zero? }
    GC.start
    3.times { 6_000.times { rule.check("b") } && GC.start }
    assert_equal(kept.map { |i, _| 100_000 - i }, kept.map { |_, result| result.remaining })
  end

  def test_a_segment_and_what_it_holds_are_dropped_together
    name = segment_name
    rule = RL.open(name, keys: 100).rule("jobs", algorithm: :in_flight, capacity: 100)
    Thread.new { 100.times { RL.open(name).rule("jobs").check("a", keep: true) } }.join
    GC.start
    assert_operator rule.peek("a").used, :<, 50
  end

  def test_a_child_gives_back_nothing_of_its_parent
    rule = RL.open(segment_name, keys: 100).rule("jobs", algorithm: :in_flight, capacity: 2)
    held = rule.check("a", keep: true)
    Process.wait(fork { held = nil })
    assert_equal 1, rule.peek("a").used
    assert held.release
  end

  def test_forked_workers_admit_exactly_the_limit
    name = segment_name
    rule = RL.open(name, keys: 100).rule("r", capacity: 50, window: 86_400 * 30, algorithm: :anchored_window)
    pids = Array.new(4) { fork { exit!(Array.new(100) { rule.allow?("k") }.count(true)) } }
    admitted = pids.sum { |pid| Process.wait2(pid).last.exitstatus }
    assert_equal 50, admitted
    assert_equal 50, rule.peek("k").used
    assert_equal 350, rule.stats[:denied]
  end

  def test_a_child_that_ends_takes_nothing_from_its_parent
    name = segment_name
    web = RL.open(name, keys: 100)
    rule = web.rule("r", "5/h")
    Process.wait(fork { rule.allow?("a") && web.close })
    assert_equal 1, rule.peek("a").used
    assert rule.allow?("a")
  end

  def test_a_closed_segment
    web = private_segment
    rule = web.rule("r", "5/min")
    counters = web.counters("c")
    held = rule.check("a", keep: true)
    web.close
    web.close
    assert web.closed?
    [-> { rule.check("a") }, -> { rule.allow?("a") }, -> { counters.add("a") }, -> { web.info }, -> { held.refund },
     -> { web.ban("a") }, -> { held.headers }].each { |call| assert_equal "EBADF", assert_raises(RL::Error, &call).code }
  end

  # Code that runs while arguments are read may close the segment.
  def test_arguments_that_close_the_segment
    web = closer = nil
    [->(r, c) { c.add("a", 1, closer) }, ->(r, c) { c.touch("a", closer) }, ->(r, c) { r.reserve("a", max_wait: closer) },
     ->(r, c) { web.reserve_all([[r, "a"]], max_wait: closer) }, ->(r, c) { web.rule("x", capacity: 1, window: closer) },
     ->(r, c) { web.ban("a", until: closer) }, ->(r, c) { r.check("a", now: closer) },
     ->(r, c) { r.check("a", keep: true).refund(now: closer) }, ->(r, c) { r.check("a").headers(closer => 1) }].each do |call|
      web = private_segment
      closer = Object.new
      closer.define_singleton_method(:to_f) { web.close || 1.0 }
      closer.define_singleton_method(:divmod) { |_| web.close || [1, 0] }
      closer.define_singleton_method(:to_s) { web.close || "reset" }
      rule, counters = web.rule("r", algorithm: :token_bucket, limit: "5/min"), web.counters("c")
      begin
        assert_includes %i[undecided], call.call(rule, counters).verdict
      rescue RL::Error, TypeError => e
        assert(e.is_a?(TypeError) || e.code == "EBADF", e.message)
      end
    end
  end

  def test_a_match_that_closes_the_segment
    [:ban, :allow, :unban, :reset_matching].each do |call|
      web = private_segment
      match = Object.new
      match.define_singleton_method(:to_s) { web.close || "key" }
      assert_equal "EBADF", assert_raises(RL::Error) { web.public_send(call, "a", match: match) }.code
    end
  end

  def test_what_was_closed_is_not_opened_anew
    web = private_segment
    [false, true].each do |is_closed|
      web.close if is_closed
      assert_match(/opened already/, assert_raises(RuntimeError) { web.send(:initialize, "x", is_private: true) }.message)
    end
  end

  # What a request was to keep goes when its arguments are refused: what is lost is lost each time, while Ruby's own heap grows now
  # and then.
  def test_refused_requests_leave_no_memory
    return if ENV["RL_TEST_ASAN"] # which keeps what is freed

    rule = private_segment.rule("r", "5/min")
    resident = -> { GC.start || (File.read("/proc/self/statm").split[1].to_i * 4096) }
    refuse = -> { 50_000.times { rule.check(nil, keep: true) rescue TypeError } }
    grown = Array.new(4) do
      before = resident.call
      refuse.call
      resident.call - before
    end
    assert_operator grown.min, :<, 8 << 20
  end

  # And it may change the key.
  def test_arguments_that_change_the_key
    rule, counters = private_segment.then { |web| [web.rule("r", algorithm: :token_bucket, limit: "5/min"), web.counters("c")] }
    key = "x" * 3000
    changer = Object.new
    changer.define_singleton_method(:to_f) { key.replace("short") && 9.0 }
    rule.reserve(key, max_wait: changer)
    assert_equal 1, rule.peek("short").used
    key = "y" * 3000
    counters.add(key, 1, changer)
    assert_equal 1, counters.get("short").value
  end

  def test_a_segment_that_is_replaced_is_found
    name = segment_name
    web = RL.open(name, keys: 100)
    rule = web.rule("r", "1/h")
    spaces = web.counters("c")
    held = rule.check("a", keep: true)
    before = web.info[:created_ns] # each call may look by itself
    RL.unlink(name)
    other = RL.open(name, keys: 100)
    refute_equal before, other.info[:created_ns]
    assert web.look
    refute web.look
    assert_equal web.info[:created_ns], other.info[:created_ns]
    refute held.refund
    assert rule.allow?("a")
    refute other.rule("r", "1/h").allow?("a")
    assert_equal 1, spaces.add("k", 1, 60).value
    assert_equal 1, other.counters("c").get("k").value
  end

  def test_a_call_looks_by_itself
    name = segment_name
    web = RL.open(name, keys: 100)
    rule = web.rule("r", "1/h")
    assert rule.allow?("a")
    RL.unlink(name)
    RL.open(name, keys: 100)
    deadline = web.now_ns + 60 * S
    sleep 0.05 until rule.allow?("a") || web.now_ns > deadline
    refute rule.allow?("a")
    assert_operator web.now_ns, :<, deadline
  end

  def test_a_foreign_file_in_its_place
    name = segment_name
    web = RL.open(name, keys: 100)
    rule = web.rule("r", "1/h")
    RL.unlink(name)
    path = "/dev/shm/rl.#{name}"
    File.write(path, "nonsense" * 100)
    assert_equal "RL_EFOREIGN", assert_raises(RL::Error) { RL.open(name) }.code
    assert_equal "RL_EFOREIGN", assert_raises(RL::Error) { web.look }.code
    assert rule.allow?("a")
    refute rule.allow?("a")
    File.unlink(path)
    assert web.look
    assert rule.allow?("a")
  ensure
    File.unlink(path) if path && File.exist?(path)
  end

  def test_a_missing_segment
    name = segment_name
    assert_equal "ENOENT", assert_raises(RL::Error) { RL.open(name, existing: true) }.code
    assert_equal "ENOENT", assert_raises(RL::Error) { RL.unlink(name) }.code
    assert_equal "ENOENT", assert_raises(RL::Error) { private_segment.rule("nobody") }.code
  end

  def test_less_than_was_asked_for_says_what
    name = segment_name
    RL.open(name, keys: 100, ring: 8)
    error = assert_raises(RL::Error) { RL.open(name, keys: 1_000_000, ring: 64, at_least: true) }
    assert_equal "RL_ELESS", error.code
    assert_match(/ring: 8, and 64 were asked for/, error.message)
  end

  # 65 keys of one rule and more: some find no slot, and count in the overflow counters of their limit, of which there are two.
  def test_the_reserve_of_a_full_table
    web = RL.open_private(keys: 1, cells: 128, reserves: 2)
    assert_equal [128, 2, "reserve"], web.info.values_at(:cells, :reserves, :on_full)
    answers = %w[a b c].map { |name| web.rule(name, "5/h") }.map { |rule| Array.new(200) { |i| rule.check("key#{i}") } }
    reasons = answers.map { |of_a_rule| of_a_rule.map(&:reason).uniq }
    assert_includes reasons[0], :reserve
    assert_includes reasons[1], :reserve
    refute_includes reasons[2], :reserve
    assert_includes answers[2].map(&:error), "ENOSPC"
    assert_raises(RL::Error) { RL.open_private(keys: 1, cells: 128, on_full: :deny) }
    assert_raises(RL::Error) { RL.open_private(cells: 100) }
    assert_match(/reserves: 1025; 0 to 1024/, assert_raises(ArgumentError) { RL.open_private(reserves: 1025) }.message)
    events = [{}, {events: 64}, {events: 0}].map { |options| RL.open_private(keys: 1, **options).info[:events] }
    assert_equal [4096, 64, 0], events
    assert_match(/events: 1048577/, assert_raises(ArgumentError) { RL.open_private(events: 1_048_577) }.message)
    name = segment_name
    RL.open(name, keys: 100, cells: 64, reserves: 1)
    less = assert_raises(RL::Error) { RL.open(name, cells: 128, reserves: 2, at_least: true) }
    assert_match(/cells: 64, and 128 were asked for; reserves: 1, and 2 were/, less.message)
  end

  def test_a_word_of_before_is_taken_with_a_warning
    _, said = capture_io { assert_equal "reserve", RL.open_private(on_full: :evict).info[:on_full] }
    assert_match(/"evict" is gone, taken as "reserve"/, said)
  end

  def test_a_full_segment
    web = RL.open_private(keys: 1, on_full: :deny)
    rule = web.rule("r", "5/h")
    answers = Array.new(200) { |i| rule.check("key#{i}") }
    full = answers.reject(&:allowed?)
    refute_empty full
    assert_equal ["ENOSPC"], full.map(&:error).uniq
  end

  def test_a_rule_that_was_forgotten_limits_again
    web = private_segment
    rule = web.rule("r", "1/h")
    assert rule.allow?("a")
    assert web.forget("r")
    results = Array.new(2) { rule.check("a") }
    assert_equal [nil, nil], results.map(&:error)
    assert_equal %i[allowed denied], results.map(&:verdict)
  end

  def test_the_administrators_configuration_stands_above
    name = segment_name
    rule = RL.open(name, keys: 100).rule("login", "5/h")
    Dir.mktmpdir do |dir|
      path = File.join(dir, "rl.json")
      File.write(path, JSON.dump("segment" => { "name" => name }, "rules" => { "login" => { "limit" => "2/h" } }))
      out, status = rlctl(name, "config", "reload", "--config", path)
      assert_equal 0, status, out
    end
    assert_equal [true, true, false], Array.new(3) { rule.allow?("a") }
    assert_equal 2, rule.limits.first[:capacity]
  end

  def test_bans_are_those_of_rlctl
    name = segment_name
    web = RL.open(name, keys: 100)
    rule = web.rule("r", "5/h")
    web.ban("mallory", rule: rule, for: 3600)
    out, = rlctl(name, "bans")
    assert_match(/mallory/, out)
    assert_equal :ban, rule.check("mallory").reason
    assert_equal 0, rlctl(name, "unban", "--rule", "r", "mallory").last
    assert rule.allow?("mallory")
    assert_equal 0, rlctl(name, "ban", "eve", "--for", "1h").last
    refute rule.allow?("eve")
    assert_equal([["eve", nil, false]], web.bans.map { |ban| ban.values_at(:key, :rule, :allow) })
    assert web.unban("eve")
    refute web.unban("eve")
    web.allow("192.0.2.0/24", match: :network)
    assert_equal :exemption, rule.check("192.0.2.7").reason
  end

  def test_rlctl_tells_the_same
    name = segment_name
    rule = RL.open(name, keys: 100).rule("login", "3/h")
    5.times { rule.allow?("alice") }
    out, = rlctl(name, "get", "login", "alice", "--json")
    assert_equal [3, 0], out.scan(/"(?:used|remaining)": (\d+)/).flatten.last(2).map(&:to_i), out
  end

  def test_results_and_rules_outlive_variables
    results = Array.new(200) { |i| RL.open_private(keys: 10).rule("r#{i}", "5/min").check("a", keep: true) }
    GC.start
    assert_equal 200, results.map { |r| r.rule.name }.uniq.size
    assert results.all?(&:refund)
    results = nil
    GC.start
    assert_nil results
  end

  def test_threads_share_a_rule
    rule = private_segment.rule("r", "1000/h", algorithm: :anchored_window)
    allowed = Array.new(8) { Thread.new { Array.new(500) { rule.allow?("k") }.count(true) } }.sum(&:value)
    assert_equal 1000, allowed
  end
end
