# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# On a system that is not Linux: it installs and loads, the first segment says what to do, and with RL_OFF=1 everything is
# allowed. And in a Ractor, where a segment is refused by name.
require_relative "helper"

class TestOff < Minitest::Test
  MAC = 'RbConfig::CONFIG["host_os"] = "darwin22"'
  PROGRAM = <<~RUBY
    require "rl"
    require "rl/cache_store"
    require "rl/rack_attack"
    web = RL.open("web", keys: 100)
    login = web.rule("login", "3/hour")
    held = login.hold("alice") { |result| result.verdict }
    all = web.check_all([[login, "alice"], [login, "bob", 3]])
    store = RL::RackAttackStore.new("web")
    p Array.new(5) { login.allow?("alice") }, held, all.allowed?, all.decided, web.ban("x", for: 5), login.check!("a").headers,
      store.increment("x", 1, expires_in: 5), store.read("rack::attack:fail2ban:ban:x"), web.reset_matching
  RUBY

  def ruby(text, env = {})
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    Open3.capture3({ "RL_OFF" => nil, **env }, RbConfig.ruby, *paths, "-e", text)
  end

  def test_it_loads_and_the_first_segment_says_what_to_do
    out, err, status = ruby("#{MAC}\nrequire 'rl'; puts 'loaded'")
    assert_equal ["loaded\n", true], [out, status.success?], err
    _, err, status = ruby("#{MAC}\n#{PROGRAM}")
    refute status.success?
    assert_match(/this is darwin22.*container.*RL_OFF=1.*RL::Error/, err)
    out, = ruby("#{MAC}\nrequire 'rl'; begin; RL.open; rescue RL::Error => e; p e.code, e.errno; end")
    assert_equal "\"ENOSYS\"\n#{Errno::ENOSYS::Errno}\n", out
  end

  def test_with_rl_off_everything_is_allowed_with_one_warning
    out, err, status = ruby("#{MAC}\n#{PROGRAM}", "RL_OFF" => "1")
    assert status.success?, err
    assert_equal "#{[true] * 5}\n:allowed\ntrue\nnil\nnil\n{}\n0\nnil\n[0, 0]\n", out
    assert_equal 1, err.scan("nothing is limited").size
  end

  def test_on_linux_it_is_not_asked
    out, = ruby("require 'rl'; p RL.open_private(keys: 100).rule('a', '1/h').then { |rule| [rule.allow?('a'), rule.allow?('a')] }", "RL_OFF" => "1")
    assert_equal "[true, false]\n", out
  end

  # All that a class of the extension has, this has: a program that loads runs.
  def test_it_has_every_call
    list = "require 'rl'; %w[Error Segment Rule Result Counters Count Proxies].each { |name| k = RL.const_get(name); " \
           "puts \"\#{name} \#{(k.public_instance_methods(false) - %i[initialize]).sort} \#{(k.singleton_methods(false) - %i[new]).sort}\" }; " \
           "p RL.singleton_methods.sort, RL::NEVER_NS, RL.constants.sort - %i[Answers Denied]"
    here, = ruby(list)
    mac, err, = ruby("#{MAC}\n#{list}")
    assert_equal here, mac, err
    assert_operator here.lines.size, :==, 10
  end

  def test_the_gem_builds_nothing_there
    Dir.mktmpdir do |dir|
      extconf = File.expand_path("../ext/extconf.rb", __dir__)
      File.write("#{dir}/mac.rb", "require 'rbconfig'\n#{MAC}\n")
      out, status = Open3.capture2e(RbConfig.ruby, "-r", "#{dir}/mac.rb", extconf, chdir: dir)
      assert status.success?, out
      out, status = Open3.capture2e("make", "-s", "all", "install", chdir: dir)
      assert status.success?, out
      assert_equal %w[Makefile mac.rb], Dir.children(dir).sort - %w[mkmf.log]
    end
  end

  def test_a_ractor_is_refused_by_name
    text = "require 'rl'; begin; Ractor.new { RL.open_private(keys: 100) }.take; rescue Ractor::RemoteError => e; puts e.cause.class, e.cause.message; end"
    out, err, = ruby("$VERBOSE = nil; Thread.report_on_exception = false; #{text}")
    assert_match(/\ARactor::UnsafeError\nrl: a segment .* main Ractor/, out, err)
  end
end
