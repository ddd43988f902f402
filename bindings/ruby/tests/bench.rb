# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What a call costs: beside rl_check() in C, and Rack::Attack's count beside its other stores, all in one run. Each
# number is the median of nine rounds, which take turns.
require "active_support"
require "active_support/cache"
require "active_support/notifications"
require "rack/attack"
require "rl/rack_attack"
require "socket"
require "tmpdir"

ROUNDS = 9
NAME = "ruby-bench-#{Process.pid}"
KEY = "203.0.113.7"

# Nanoseconds of a call, without those of the loop.
def timed(calls, block, clock)
  start = Process.clock_gettime(clock)
  i = 0
  while i < calls
    block.call
    i += 1
  end
  (Process.clock_gettime(clock) - start) * 1e9 / calls
end

def median(list)
  list.sort[list.size / 2]
end

def measure(calls, clock, blocks)
  empty = -> {}
  rounds = Array.new(ROUNDS) { [timed(calls, empty, clock), blocks.transform_values { |block| timed(calls, block, clock) }] }
  blocks.keys.to_h { |name| [name, median(rounds.map { |loop_ns, each| each[name] - loop_ns })] }
end

def table(title, unit, numbers, base)
  puts "\n#{title}\n\n| | ns | x |\n|---|--:|--:|"
  numbers.each { |name, ns| puts format("| %s | %.0f | %.2f |", name, ns, ns / base) }
  puts "x is times #{unit}"
end

# A socket is there a moment before its server listens.
def listens?(socket)
  UNIXSocket.open(socket) { true }
rescue SystemCallError
  false
end

def server(command, dir, socket)
  pid = spawn(*command, chdir: dir, out: "#{dir}/log", err: "#{dir}/log")
  200.times { listens?(socket) ? break : sleep(0.05) }
  pid
end

web = RL.open(NAME, keys: 1000)
rule = web.rule("bench", capacity: (1 << 28) - 1, window: 86_400, algorithm: :sliding_window, granularity: 1)
full = web.rule("full", capacity: 1, window: 86_400, algorithm: :sliding_window, granularity: 1)
counters = web.counters("counters")
full.allow?(KEY)
c_ns = [`#{ENV.fetch('RL_CHECK_NS')} #{NAME}`.to_f]
calls = measure(200_000, Process::CLOCK_PROCESS_CPUTIME_ID,
                "allow?" => -> { rule.allow?(KEY) }, "check" => -> { rule.check(KEY) },
                "check, its headers" => -> { rule.check(KEY).headers },
                "Object.new, of Ruby alone" => -> { Object.new }, "a text literal, of Ruby alone" => -> { +"abc" },
                "allow?, denied" => -> { full.allow?(KEY) }, "counters.add" => -> { counters.add(KEY, 1, 60) })
c_ns << `#{ENV.fetch('RL_CHECK_NS')} #{NAME}`.to_f
c = c_ns.sum / 2
table("A call, in CPU time, beside rl_check() with its own clock", "rl_check() in C, before and after: #{c_ns.join(', ')} ns", { "rl_check() in C" => c }.merge(calls), c)

Dir.mktmpdir("rl-bench") do |dir|
  servers = []
  stores = { "rl" => RL::RackAttackStore.new(web), "MemoryStore, of one process" => ActiveSupport::Cache::MemoryStore.new,
             "FileStore" => ActiveSupport::Cache::FileStore.new("#{dir}/cache") }
  if system("command -v redis-server >/dev/null")
    require "redis"
    servers << server(["redis-server", "--port", "0", "--unixsocket", "#{dir}/redis", "--save", ""], dir, "#{dir}/redis")
    stores["Redis, over a unix socket"] = Redis.new(path: "#{dir}/redis")
  end
  if system("command -v memcached >/dev/null")
    require "dalli"
    servers << server(["memcached", "-u", "root", "-s", "#{dir}/memcached"], dir, "#{dir}/memcached")
    stores["memcached, over a unix socket"] = Dalli::Client.new("#{dir}/memcached")
  end
  blocks = stores.transform_values do |store|
    cache = Rack::Attack::Cache.new
    cache.store = store
    -> { cache.count("ip:#{KEY}", 3600) }
  end
  counts = measure(500, Process::CLOCK_MONOTONIC, blocks)
  table("Rack::Attack's cache.count, by store", "rl", counts, counts["rl"])
ensure
  servers.each { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
end
RL.unlink(NAME)
limit = ENV.fetch("RL_BENCH_LIMIT", "0").to_f
abort "a call takes more than #{limit} times rl_check()" if limit.positive? && calls.values_at("allow?", "check", "counters.add").max > limit * c
