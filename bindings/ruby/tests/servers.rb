# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Puma's cluster and Unicorn, each with its application loaded before the fork and after it: four workers admit
# exactly 50 of 400, though one is killed, and what a killed one held comes back.
require_relative "helper"
require "fileutils"
require "socket"
require "tmpdir"

class TestServers < Minitest::Test
  include Segments
  HERE = __dir__
  SOON = 60 # seconds until something that comes at once is given up

  def puma(dir, preload)
    File.write("#{dir}/puma.rb", <<~CONFIG)
      bind "unix://#{dir}/socket"
      workers 4
      threads 2, 2
      worker_timeout 3600
      #{'preload_app!' if preload}
      silence_single_worker_warning
      log_requests false
    CONFIG
    ["puma", "-C", "#{dir}/puma.rb", "#{HERE}/config.ru"]
  end

  def unicorn(dir, preload)
    File.write("#{dir}/unicorn.rb", <<~CONFIG)
      listen "#{dir}/socket", backlog: 1024
      worker_processes 4
      timeout 3600
      preload_app #{preload}
    CONFIG
    ["unicorn", "-c", "#{dir}/unicorn.rb", "#{HERE}/config.ru"]
  end

  def get(dir, path, client = nil)
    UNIXSocket.open("#{dir}/socket") do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\n#{"X-Forwarded-For: #{client}\r\n" if client}Connection: close\r\n\r\n")
      head, = socket.read.split("\r\n\r\n", 2)
      [Integer(head[/\AHTTP\S* (\d+)/, 1]), head[/^X-Worker: (\d+)/i, 1]&.to_i]
    end
  end

  def wait_for(what)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SOON
    loop do
      return if yield
      flunk "#{what}: not in #{SOON} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
    end
  end

  def answers?(dir)
    get(dir, "/")
  rescue SystemCallError, TypeError
    nil
  end

  # The workers: all that answer, until there are four.
  def workers(dir)
    seen = {}
    wait_for("four workers") do
      Array.new(8) { Thread.new { get(dir, "/") } }.each { |thread| seen[thread.value.last] = true }
      alive = seen.keys.select { |pid| File.exist?("/proc/#{pid}") }
      alive.size >= 4
    end
    seen.keys.select { |pid| File.exist?("/proc/#{pid}") }
  end

  # The clients are as many addresses as the block makes of a number.
  def ask(dir, path, count)
    queue = Queue.new
    count.times { |i| queue << (block_given? ? yield(i) : nil) }
    Array.new(8) do
      Thread.new do
        got = []
        got << get(dir, path, queue.pop(true)) until queue.empty?
        got
      rescue ThreadError
        got
      end
    end.flat_map(&:value)
  end

  def with_server(kind, preload)
    name = segment_name
    Dir.mktmpdir("rl-ruby") do |dir|
      command = send(kind, dir, preload)
      env = { "RL_SEGMENT" => name, "RUBYLIB" => ENV.fetch("RL_RUBY_LIB"), "RACK_ENV" => "none" }
      pid = spawn(env, *command, chdir: dir, out: "#{dir}/log", err: "#{dir}/log")
      begin
        wait_for("#{kind} answers; #{File.read("#{dir}/log")}") { answers?(dir) }
        yield dir, name
      ensure
        Process.kill(:TERM, pid)
        Process.wait(pid)
      end
    end
  end

  def admitted(answers)
    assert_equal [], answers.map(&:first) - [200, 429]
    answers.count { |status, _| status == 200 }
  end

  def kill(pid)
    Process.kill(:KILL, pid)
    wait_for("the end of #{pid}") { ended?(pid) }
  end

  # It may go while it is looked at.
  def ended?(pid)
    File.read("/proc/#{pid}/stat").include?(") Z ")
  rescue Errno::ENOENT, Errno::ESRCH
    true
  end

  def exactly_fifty(dir, path)
    first = ask(dir, path, 30)
    kill(workers(dir).sample)
    rest = ask(dir, path, 370)
    assert_equal 50, admitted(first + rest)
    assert_operator (first + rest).map(&:last).compact.uniq.size, :>, 1
  end

  def what_was_held_comes_back(dir, name)
    holders = Array.new(4) { get(dir, "/hold") }
    assert_equal [200] * 4, holders.map(&:first)
    assert_equal 429, get(dir, "/hold").first
    holders.map(&:last).uniq.each { |pid| kill(pid) }
    wait_for("what was held") { get(dir, "/hold").first == 200 }
    out, = rlctl(name, "get", "jobs", "one")
    assert_match(/1/, out)
  end

  def statuses(answers)
    answers.map(&:first).tally
  end

  # 50 wrong guesses, 1,000 right ones, 1,000 of one network, and one whose worker is killed before it could answer.
  def failures_alone_count(dir, name)
    assert_equal({ 401 => 5, 429 => 45 }, statuses(ask(dir, "/login/wrong", 50) { "192.0.2.1" }))
    assert_equal({ 200 => 1000 }, statuses(ask(dir, "/login/right", 1000) { "192.0.2.2" }))
    web = RL.open(name)
    login, reached = web.rule("login"), web.counters("reached")
    assert_equal [5, 1000, 5, 0], [reached.get("/login/wrong").value, reached.get("/login/right").value,
                                   login.peek("192.0.2.1").used, login.peek("192.0.2.2").used]
    assert_raises(SystemCallError, NoMethodError) { get(dir, "/login/killed", "192.0.2.2") }
    assert_equal 1, login.peek("192.0.2.2").used
    assert_equal({ 401 => 5, 429 => 995 }, statuses(ask(dir, "/login/wrong", 1000) { |i| format("2001:db8:0:7::%x", i + 1) }))
    assert_match(/2001:db8:0:7::/, rlctl(name, "get", "login", "2001:db8:0:7::").first)
  end

  # As much as answers have cost, over an exception, a worker that is killed and a client that hangs up.
  def what_is_used_is_what_it_has_cost(dir, name)
    web = RL.open(name)
    tokens, parts = web.rule("tokens"), web.counters("parts")
    10.times { %w[less more unknown].each { |what| assert_equal 200, get(dir, "/spend/#{what}").first } }
    assert_equal 10 * (15 + 100 + 40), tokens.peek("one").used
    { "thrown" => 1590, "killed" => 1630 }.each do |what, used|
      spend(dir, what)
      wait_for("#{used} after one that is #{what}") { tokens.peek("one").used == used }
    end
    hang_up(dir, "/spend/endless")
    wait_for("the parts of an answer") { tokens.peek("one").used == 1630 + parts.get("all").value }
    assert_operator parts.get("all").value, :>, 0
    nil while get(dir, "/spend/more").first == 200
    assert_operator tokens.peek("one").used, :>, 2960
  end

  # It may have no answer.
  def spend(dir, what)
    get(dir, "/spend/#{what}")
  rescue SystemCallError, NoMethodError
    nil
  end

  def hang_up(dir, path)
    UNIXSocket.open("#{dir}/socket") do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
      socket.readpartial(4096)
    end
  end

  %w[puma unicorn].each do |kind|
    [true, false].each do |preload|
      define_method("test_#{kind}_#{preload ? 'preload' : 'no_preload'}") do
        with_server(kind, preload) do |dir, name|
          exactly_fifty(dir, "/native")
          exactly_fifty(dir, "/attack")
          workers(dir)
          what_was_held_comes_back(dir, name)
          assert_equal 350, RL.open(name).rule("native").stats[:denied]
          failures_alone_count(dir, name) if preload
          what_is_used_is_what_it_has_cost(dir, name) if preload
        end
      end
    end
  end
end
