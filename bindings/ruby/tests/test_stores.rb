# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What Rails asks of a cache, with times given; and the middleware.
require_relative "helper"
require "active_support"
require "active_support/core_ext/numeric/time"
require "active_support/cache"
require "action_controller"
require "rack/mock"
require "rl/cache_store"
require "rl/middleware"

class TestCacheStore < Minitest::Test
  def setup
    @clock = FakeClock.new
    @store = RL::CacheStore.new(RL.open_private(keys: 1000), clock: @clock)
  end

  def test_a_number_lives_as_long_as_its_first_increment_said
    assert_equal 1, @store.increment("a", 1, expires_in: 60)
    @clock + 59
    assert_equal 3, @store.increment("a", 2, expires_in: 60)
    assert_equal 3, @store.read("a")
    @clock + 1
    assert_nil @store.read("a")
    assert_equal 1, @store.increment("a", 1, expires_in: 60)
  end

  def test_as_the_memory_store_of_rails
    rails = ActiveSupport::Cache::MemoryStore.new
    [rails, @store].each { |store| store.write("n", 5, expires_in: 60) }
    assert_equal rails.increment("n", 3), @store.increment("n", 3)
    assert_equal rails.decrement("n", 6), @store.decrement("n", 6)
    assert_same rails.read("n"), @store.read("n")
    assert_equal rails.exist?("n"), @store.exist?("n")
    [{}, { force: true }].each { |how| assert_equal rails.fetch("n", how) { 7 }, @store.fetch("n", how) { 7 } }
    assert_equal [rails.fetch("f", expires_in: 9) { 4 }, rails.read("f")], [@store.fetch("f", expires_in: 9) { 4 }, @store.read("f")]
    assert_equal [rails.fetch("g"), rails.fetch("g") { nil }], [@store.fetch("g"), @store.fetch("g") { nil }]
    [rails, @store].each { |store| store.write("n", 2, expires_in: 60) }
    assert_equal rails.exist?("x"), @store.exist?("x")
    assert_nil @store.read("x")
    assert_equal rails.write("n", 9, unless_exist: true), @store.write("n", 9, unless_exist: true)
    assert_equal rails.delete("n"), @store.delete("n")
    assert_equal rails.delete("n"), @store.delete("n")
    assert_same rails.read("n"), @store.read("n")
  end

  def test_durations_of_rails
    @store.increment("a", 1, expires_in: 3.minutes)
    @clock + 179
    assert_equal 1, @store.read("a")
    @clock + 1
    assert_nil @store.read("a")
  end

  def test_write_and_expiry
    assert @store.write("a", 7, expires_in: 10)
    refute @store.write("a", 9, expires_in: 10, unless_exist: true)
    @clock + 10
    assert @store.write("a", 9, unless_exist: true)
    @clock + 1_000_000
    assert_equal 9, @store.read("a")
    assert_raises(ArgumentError) { @store.write("a", "value") }
    assert_raises(ArgumentError) { @store.write("a", -1) }
  end

  def test_delete_matched_and_long_names
    names = [20, 60, 4090, 5000].flat_map { |n| %w[login other].map { |w| "#{w}:" + "x" * n } }
    names.each { |name| assert_equal 1, @store.increment(name, 1, expires_in: 60) }
    assert_equal 4, @store.delete_matched("login:*")
    assert_equal [nil, 1] * 4, names.map { |name| @store.read(name) }
    assert_equal 4, @store.clear
    @store.increment("login:a", 1, expires_in: 60)
    assert_equal 1, @store.delete_matched(/\Alogin:*/)
    [/login/, /a.b|c*/, "*", "a*b*", "login"].each { |pattern| assert_raises(ArgumentError) { @store.delete_matched(pattern) } }
  end

  def test_names_that_are_not_kept_are_not_forgotten_in_silence
    store = RL::CacheStore.new(RL.open_private(keys: 100, key_bytes: 8))
    store.increment("login-page:1", 1, expires_in: 60)
    assert_equal "ENAMETOOLONG", assert_raises(RL::Error) { store.delete_matched("login-page:*") }.code
  end

  def test_what_cannot_be_counted
    { raise: nil, allow: 0, deny: RL::CacheStore::REFUSED }.each do |policy, count|
      store = RL::CacheStore.new(RL.open_private(keys: 100), on_error: policy)
      if count
        assert_output(nil, /rl: .*#{policy} by on_error/) { assert_equal count, store.increment("") }
      else
        assert_raises(RL::Error) { store.increment("") }
      end
    end
    assert_raises(ArgumentError) { RL::CacheStore.new(RL.open_private(keys: 10), on_error: :shrug) }
  end
end

# What rate_limit of Rails 7.2 and later does with its store, in a controller of the Rails that is here.
class TestRails < Minitest::Test
  class Logins < ActionController::Base
    cattr_accessor :cache_store
    before_action { limit(to: 3, within: 3.minutes) }

    def create
      head :ok
    end

    private

    def limit(to:, within:)
      count = self.class.cache_store.increment(["rate-limit", controller_path, request.remote_ip].join(":"), 1, expires_in: within)
      head(:too_many_requests) if count && count > to
    end
  end

  def test_rate_limit
    clock = FakeClock.new
    Logins.cache_store = RL::CacheStore.new(RL.open_private(keys: 100), clock: clock)
    ask = ->(ip) { Logins.action(:create).call(Rack::MockRequest.env_for("/", "REMOTE_ADDR" => ip)).first }
    assert_equal [200, 200, 200, 429, 429], Array.new(5) { ask.call("203.0.113.1") }
    assert_equal 200, ask.call("203.0.113.2")
    clock + 180
    assert_equal 200, ask.call("203.0.113.1")
  end
end

class TestMiddleware < Minitest::Test
  def app(**options)
    inner = ->(_env) { [200, { "x" => "y" }, ["ok"]] }
    RL::Middleware.new(inner, RL.open_private(keys: 100, **options.slice(:readonly)).rule("page", "2/h"), **options.except(:readonly))
  end

  def ask(app, **env)
    app.call(Rack::MockRequest.env_for("/", { "REMOTE_ADDR" => "203.0.113.1" }.merge(env.transform_keys(&:to_s))))
  end

  def test_429_and_fields
    limited = app
    status, headers, = ask(limited)
    assert_equal [200, "y", "\"page\";q=2;w=3600"], [status, headers["x"], headers["ratelimit-policy"]]
    assert_match(/\A"page";r=1;t=\d+\z/, headers["ratelimit"])
    refute headers.key?("x-ratelimit-limit")
    ask(limited)
    status, headers, body = ask(limited)
    assert_equal [429, "application/problem+json"], [status, headers["content-type"]]
    assert_match(/#quota-exceeded".*"status": 429.*"violated-policies": \["page"\]/, body.join)
    assert_operator Integer(headers["retry-after"]), :>, 3000
    assert_equal %w[content-type ratelimit ratelimit-policy retry-after], headers.keys.sort # Rack 3 refuses a name with capitals
    assert_equal 200, ask(limited, REMOTE_ADDR: "203.0.113.2").first
  end

  def test_headers
    assert_equal %w[x x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset], ask(app(headers: :x))[1].keys.sort
    assert_equal %w[x], ask(app(headers: :none))[1].keys
    headers = ask(app(headers: :"ietf-7"))[1]
    assert_equal "2;w=3600", headers["ratelimit-policy"]
    assert_match(/\Alimit=2, remaining=\d, reset=\d+\z/, headers["ratelimit"])
    assert_raises(ArgumentError) { app(headers: :all) }
  end

  def test_behind_a_proxy
    limited = app(trusted: ["10.0.0.0/8"])
    from = ->(list) { ask(limited, REMOTE_ADDR: "10.0.0.1", HTTP_X_FORWARDED_FOR: list).first }
    assert_equal [200, 200, 429], ["6.6.6.6, 203.0.113.7", "7.7.7.7, 203.0.113.7", "203.0.113.7"].map(&from)
    assert_equal 200, from.call("203.0.113.8")
  end

  # What a request counts for in the end that is answered so.
  def used_after(counted, status, error: nil, errors: nil)
    rule = RL.open_private(keys: 100).rule("login", "5/day")
    inner = ->(_env) { error ? raise(error) : [status, {}, ["told"]] }
    limited = RL::Middleware.new(inner, rule, count_status: counted)
    begin
      ask(limited, **(errors ? { "rack.errors": errors } : {}))
    rescue StandardError, Interrupt => e
      raise unless e.equal?(error)
    end
    rule.peek("203.0.113.1").used
  end

  def test_answers_that_do_not_count_are_given_back
    counts = { [[401], 401] => 1, [[401], 200] => 0, [401, 401] => 1, ["4xx", 404] => 1, [["404"], 404] => 1, [["4xx", 503], 500] => 0,
               [["4xx", 503], 503] => 1, [nil, 200] => 1, [->(status, env) { status == 404 && env["REMOTE_ADDR"] }, 404] => 1,
               [->(status, _env) { status == 404 }, 405] => 0, [[401], "401"] => 1 }
    counts.each { |(counted, status), used| assert_equal used, used_after(counted, status), "#{counted.inspect} #{status}" }
    [[], ["6xx"], [99]].each { |wrong| assert_raises(ArgumentError) { app(count_status: wrong) } }
  end

  def test_an_exception_is_a_500_and_what_has_no_answer_counts
    assert_equal [0, 1], [[401], ["5xx"]].map { |counted| used_after(counted, 0, error: ZeroDivisionError.new) }
    assert_equal 1, used_after([401], 0, error: Interrupt.new)
    log = StringIO.new
    assert_equal 1, used_after(->(_status, _env) { raise "no idea" }, 200, errors: log)
    assert_match(/rule login: an answer counts that may not: no idea/, log.string)
  end

  def test_what_is_in_flight_is_held_until_the_body_is_closed
    jobs = RL.open_private(keys: 100).rule("jobs", limits: [{ limit: "9/day" }, { algorithm: :in_flight, capacity: 1 }])
    limited = RL::Middleware.new(->(env) { env["rack.hijack"] ? raise(IOError) : [200, {}, ["told"]] }, jobs, count_status: [401])
    _, _, body = ask(limited)
    assert_equal 429, ask(limited).first
    body.close
    3.times { assert_raises(IOError) { ask(limited, "rack.hijack": true) } }
    assert_equal 200, ask(limited).first
    assert_equal ["ok"], ask(app).last, "nothing is held: the body is the application's own"
  end

  def test_an_ipv6_client_is_its_network
    { nil => "2001:db8:0:7::", 56 => "2001:db8::", 128 => "2001:db8:0:7::1" }.each do |bits, key|
      rule = RL.open_private(keys: 100).rule("page", "9/day")
      limited = RL::Middleware.new(->(_env) { [200, {}, []] }, rule, **{ client_v6: bits }.compact)
      %w[2001:db8:0:7::1 192.0.2.1 ::ffff:192.0.2.1].each { |address| ask(limited, REMOTE_ADDR: address) }
      assert_equal [1, 2], [rule.peek(key).used, rule.peek("192.0.2.1").used]
    end
  end

  def test_a_key_of_ones_own
    limited = app(key: ->(env) { env["HTTP_X_USER"] })
    assert_equal [200, 200, 429], Array.new(3) { ask(limited, HTTP_X_USER: "alice").first }
    assert_equal 200, ask(limited).first
  end

  def test_what_cannot_be_decided_is_refused_and_logged
    { deny: 503, allow: 200 }.each do |policy, status|
      errors = StringIO.new
      answer = ask(app(key: ->(_env) { "" }, on_error: policy), "rack.errors": errors)
      assert_equal status, answer.first
      assert_match(/RL_EEMPTY/, errors.string)
    end
  end
end
