# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Rack::Attack on its store, with times given: what its own suite asks, in words of ours.
require_relative "helper"
require "active_support"
require "active_support/core_ext/numeric/time"
require "active_support/cache"
require "rack/attack"
require "rack/mock"
require "rl/rack_attack"

class TestRackAttack < Minitest::Test
  include Segments

  def setup
    @clock = FakeClock.new
    @name = segment_name
    @segment = RL.open(@name, keys: 1000)
    @store = RL::RackAttackStore.new(@segment, clock: @clock)
    Rack::Attack.clear_configuration
    Rack::Attack.cache.store = @store
    @app = Rack::Attack.new(->(_env) { [200, {}, ["ok"]] })
    @now = @clock.time.to_i
    clock = @clock
    Time.singleton_class.send(:alias_method, :real_now, :now)
    Time.define_singleton_method(:now) { |**| clock.time.dup }
  end

  def teardown
    Time.singleton_class.send(:alias_method, :now, :real_now)
    Time.singleton_class.send(:remove_method, :real_now)
    super
  end

  def ask(ip = "203.0.113.1", path = "/", **more)
    @env = Rack::MockRequest.env_for(path, { "REMOTE_ADDR" => ip }.merge(more))
    status, @headers, body = @app.call(@env)
    @body = body.first
    status
  end

  def test_throttle
    Rack::Attack.throttle("req/ip", limit: 3, period: 60, &:ip)
    assert_equal [200, 200, 200, 429], Array.new(4) { ask }
    assert_equal 200, ask("203.0.113.2")
    assert_equal 4, @store.read("rack::attack:#{@now / 60}:req/ip:203.0.113.1")
    @clock + 60
    assert_equal 200, ask
  end

  def test_a_throttle_whose_limit_is_of_the_request
    Rack::Attack.throttle("x", limit: ->(r) { r.path == "/a" ? 1 : 2 }, period: ->(_r) { 60 }, &:ip)
    assert_equal [200, 429], Array.new(2) { ask("203.0.113.1", "/a") }
    assert_equal [200, 200, 429], Array.new(3) { ask("203.0.113.2", "/b") }
  end

  def test_track
    seen = []
    ActiveSupport::Notifications.subscribe("track.rack_attack") { |*, payload| seen << payload[:request].ip }
    Rack::Attack.track("t", limit: 2, period: 60, &:ip)
    assert_equal [200] * 4, Array.new(4) { ask }
    assert_equal 2, seen.size
  ensure
    ActiveSupport::Notifications.unsubscribe("track.rack_attack")
  end

  def test_safelists_come_first
    Rack::Attack.safelist("office") { |request| request.env["HTTP_X_OFFICE"] }
    Rack::Attack.safelist_ip("198.51.100.0/24")
    Rack::Attack.safelist_ip("2001:db8::/32")
    Rack::Attack.blocklist("all but these") { true }
    Rack::Attack.throttle("req/ip", limit: 1, period: 60, &:ip)
    assert_equal 403, ask
    %w[198.51.100.7 2001:db8::1].each { |ip| assert_equal [200] * 3, Array.new(3) { ask(ip) } }
    assert_equal 200, ask("203.0.113.1", "/", "HTTP_X_OFFICE" => "1")
    assert_equal ["office", :safelist], @env.values_at("rack.attack.matched", "rack.attack.match_type")
    assert_nil @env["rack.attack.throttle_data"]
  end

  def test_blocklists
    Rack::Attack.blocklist("bots") { |request| request.user_agent == "bot" }
    Rack::Attack.blocklist_ip("198.51.100.0/24")
    assert_equal 403, ask("203.0.113.1", "/", "HTTP_USER_AGENT" => "bot")
    assert_equal ["bots", :blocklist], @env.values_at("rack.attack.matched", "rack.attack.match_type")
    assert_equal [403, 200], [ask("198.51.100.7"), ask("198.51.101.7")]
    assert_nil @env["rack.attack.matched"]
  end

  def test_responders_of_ones_own
    Rack::Attack.blocklisted_responder = ->(request) { [503, {}, [request.ip]] }
    Rack::Attack.throttled_responder = ->(request) { [503, {}, [request.env["rack.attack.match_data"].slice(:count, :limit, :period).values.join("/")]] }
    Rack::Attack.blocklist_ip("198.51.100.7")
    Rack::Attack.throttle("req/ip", limit: 1, period: 60, &:ip)
    assert_equal [503, "198.51.100.7"], [ask("198.51.100.7"), @body]
    assert_equal [200, 503, "2/1/60"], [ask, ask, @body]
  end

  # A window ends at a multiple of its period, and the count lives until then and a second more.
  def test_retry_after_is_what_is_left_of_the_period
    Rack::Attack.throttled_response_retry_after_header = true
    Rack::Attack.throttle("req/ip", limit: 1, period: 60, &:ip)
    @clock + (60 - (@now % 60) + 17)
    assert_equal [200, 429, "43"], [ask, ask, @headers["retry-after"]]
    @clock + 42
    assert_equal [429, "1"], [ask, @headers["retry-after"]]
    @clock + 1
    assert_equal 200, ask
  end

  def test_several_throttles_and_their_data
    Rack::Attack.throttle("by ip", limit: 2, period: 60, &:ip)
    Rack::Attack.throttle("by login", limit: 1, period: 3600) { |request| request.params["login"] }
    assert_equal 200, ask("203.0.113.1", "/?login=alice")
    assert_equal({ "by ip" => { discriminator: "203.0.113.1", count: 1, period: 60, limit: 2, epoch_time: @now },
                   "by login" => { discriminator: "alice", count: 1, period: 3600, limit: 1, epoch_time: @now } },
                 @env["rack.attack.throttle_data"])
    assert_equal 429, ask("203.0.113.2", "/?login=%20ALICE%20")
    assert_equal ["by login", :throttle, "alice"], @env.values_at("rack.attack.matched", "rack.attack.match_type", "rack.attack.match_discriminator")
    assert_equal 200, ask("203.0.113.2")
    assert_equal ["by ip"], @env["rack.attack.throttle_data"].keys
  end

  def test_a_discriminator_as_it_is
    normalizer = Rack::Attack.throttle_discriminator_normalizer
    Rack::Attack.throttle_discriminator_normalizer = nil
    Rack::Attack.throttle("login", limit: 1, period: 60) { |request| request.params["login"] }
    assert_equal [200, 200, 429], %w[alice ALICE alice].map { |name| ask("203.0.113.1", "/?login=#{name}") }
  ensure
    Rack::Attack.throttle_discriminator_normalizer = normalizer
  end

  def test_periods_in_other_words
    { "text" => "60", "of Rails" => 1.minute, "a part" => 60.9, "asked" => ->(_request) { 60 } }.each do |name, period|
      Rack::Attack.clear_configuration
      Rack::Attack.throttle(name, limit: 1, period: period, &:ip)
      assert_equal [200, 429], Array.new(2) { ask }, name
    end
    assert_raises(ArgumentError) { Rack::Attack.throttle("x", limit: 1) }
    assert_raises(ArgumentError) { Rack::Attack.throttle("x", period: 1) }
  end

  def test_what_is_told_of_requests
    told = []
    subscription = ActiveSupport::Notifications.subscribe(/\.rack_attack\z/) { |event, *, payload| told << [event[/\w+/], payload[:request].ip] }
    Rack::Attack.safelist_ip("198.51.100.1")
    Rack::Attack.blocklist_ip("198.51.100.2")
    Rack::Attack.throttle("t", limit: 1, period: 60, &:ip)
    Rack::Attack.track("all") { true }
    %w[198.51.100.1 198.51.100.2 198.51.100.3 198.51.100.3].each { |ip| ask(ip) }
    assert_equal [%w[safelist 198.51.100.1], %w[blocklist 198.51.100.2], %w[track 198.51.100.3], %w[throttle 198.51.100.3]], told
  ensure
    ActiveSupport::Notifications.unsubscribe(subscription)
  end

  def test_its_cache
    cache = Rack::Attack.cache
    assert_same @store, cache.store # no proxy stands between
    assert_equal [1, 2], Array.new(2) { cache.count("a", 60) }
    assert_equal 2, cache.read("#{@now / 60}:a")
    assert cache.reset_count("a", 60)
    refute cache.reset_count("a", 60)
    assert_equal 1, cache.count("a", 60)
    assert cache.write("b", 7, 10)
    assert_equal 7, cache.read("b")
    @clock + 10
    assert_nil cache.read("b")
    cache.write("b", 7, 10)
    assert cache.delete("b")
    assert_nil cache.read("b")
    cache.reset!
    assert_nil cache.read("#{@now / 60}:a")
  end

  def test_it_can_be_switched_off
    Rack::Attack.blocklist("all") { true }
    Rack::Attack.enabled = false
    assert_equal 200, ask
  ensure
    Rack::Attack.enabled = true
  end

  def fail2ban(kind)
    Rack::Attack.blocklist("scan") do |request|
      kind.filter("scan-#{request.ip}", maxretry: 2, findtime: 30, bantime: 100) { request.path == "/etc/passwd" }
    end
  end

  def test_fail2ban
    fail2ban(Rack::Attack::Fail2Ban)
    assert_equal 200, ask
    assert_equal [403, 403], Array.new(2) { ask("203.0.113.1", "/etc/passwd") }
    assert_equal 403, ask
    assert_equal 200, ask("203.0.113.2")
    @clock + 99
    assert_equal 403, ask
    @clock + 1
    assert_equal 200, ask
  end

  def test_failures_far_apart_do_not_ban
    fail2ban(Rack::Attack::Fail2Ban)
    ask("203.0.113.1", "/etc/passwd")
    @clock + 30
    ask("203.0.113.1", "/etc/passwd")
    assert_equal 200, ask
  end

  def test_allow2ban
    fail2ban(Rack::Attack::Allow2Ban)
    assert_equal [200, 200], Array.new(2) { ask("203.0.113.1", "/etc/passwd") }
    assert_equal 403, ask
    @clock + 100
    assert_equal 200, ask
  end

  def test_reset_of_a_ban
    fail2ban(Rack::Attack::Fail2Ban)
    2.times { ask("203.0.113.1", "/etc/passwd") }
    assert Rack::Attack::Fail2Ban.banned?("scan-203.0.113.1")
    Rack::Attack::Fail2Ban.reset("scan-203.0.113.1", findtime: 30)
    refute Rack::Attack::Fail2Ban.banned?("scan-203.0.113.1")
    ask("203.0.113.1", "/etc/passwd")
    assert_equal 200, ask
  end

  def test_bans_are_shown_and_lifted_by_rlctl
    Time.singleton_class.send(:alias_method, :now, :real_now)
    Rack::Attack.cache.store = RL::RackAttackStore.new(@segment)
    fail2ban(Rack::Attack::Fail2Ban)
    2.times { ask("203.0.113.1", "/etc/passwd") }
    out, = rlctl(@name, "bans")
    assert_match(/fail2ban.*scan-203\.0\.113\.1|scan-203\.0\.113\.1.*fail2ban/, out)
    assert_equal 403, ask
    assert_equal 0, rlctl(@name, "unban", "--rule", "fail2ban", "scan-203.0.113.1").last
    assert_equal 200, ask
    assert_equal 0, rlctl(@name, "ban", "--rule", "fail2ban", "--for", "1h", "scan-203.0.113.2").last
    assert_equal 403, ask("203.0.113.2")
  end

  def test_reset_forgets_throttles_and_bans_alone
    Rack::Attack.throttle("req/ip", limit: 1, period: 60, &:ip)
    fail2ban(Rack::Attack::Fail2Ban)
    other = RL::CacheStore.new(@segment, clock: @clock)
    other.increment("rack::attack:mine", 1, expires_in: 60)
    2.times { ask("203.0.113.1", "/etc/passwd") }
    @segment.ban("eve", until: @clock.time + 60)
    assert_equal 403, ask
    Rack::Attack.reset!
    assert_equal [200, 429], Array.new(2) { ask }
    assert_equal 1, other.read("rack::attack:mine")
    assert_equal(["eve"], @segment.bans(now: @clock.time).map { |ban| ban[:key] })
  end

  def test_a_hostile_name_reaches_no_ban
    victim = "scan-203.0.113.9"
    @store.write("rack::attack:fail2ban:ban:#{victim}", 1, expires_in: 60)
    ["x:rack::attack:fail2ban:ban:#{victim}", "rack::attack:1:x:rack::attack:fail2ban:ban:#{victim}"].each do |name|
      @store.delete(name)
      @store.write(name, 1, expires_in: 1)
      assert_equal 1, @store.increment("#{name}:2", 1, expires_in: 5)
    end
    assert_equal 1, @store.read("rack::attack:fail2ban:ban:#{victim}")
    assert_equal 1, @segment.bans(now: @clock.time).size
  end

  def test_other_prefixes
    Rack::Attack.cache.prefix = "mine"
    Rack::Attack.cache.store = RL::RackAttackStore.new(@segment, clock: @clock, prefix: "mine")
    fail2ban(Rack::Attack::Fail2Ban)
    2.times { ask("203.0.113.1", "/etc/passwd") }
    assert_equal(["scan-203.0.113.1"], @segment.bans(now: @clock.time).map { |ban| ban[:key] })
  ensure
    Rack::Attack.cache.prefix = "rack::attack"
  end
end
