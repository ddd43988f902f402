# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What the servers' workers run: /native asks a rule, /attack a throttle of Rack::Attack, /hold takes a unit in
# flight and keeps it, /login is a middleware of which failures count, /spend what is paid afterwards. Each answer names its worker.
require "rack/attack"
require "rl/middleware"
require "rl/rack_attack"

web = RL.open(ENV.fetch("RL_SEGMENT"), keys: 1000)
rule = web.rule("native", algorithm: :anchored_window, capacity: 50, window: "never")
jobs = web.rule("jobs", algorithm: :in_flight, capacity: 4)
held = []
Rack::Attack.cache.store = RL::RackAttackStore.new(web)
Rack::Attack.throttle("all", limit: 50, period: 3600 * 24 * 365) { |request| "one" if request.path == "/attack" }

logins = RL::Middleware.new(lambda do |env|
  web.counters("reached").add(env["PATH_INFO"], 1, 3600)
  Process.kill(:KILL, Process.pid) if env["PATH_INFO"] == "/login/killed"
  sleep 0.05 if env["PATH_INFO"] == "/login/wrong" # others come meanwhile
  [env["PATH_INFO"] == "/login/right" ? 200 : 401, { "X-Worker" => Process.pid.to_s }, []]
end, web.rule("login", "5/day"), trusted: ["unix:"], count_status: [401])

# What a request does that is charged 40; the counter has how many parts of answers there were.
tokens = web.rule("tokens", "3000/day")
parts = web.counters("parts")
endless = Enumerator.new { |out| loop { parts.add("all", 1, 3600) && out << ("." * 65_536) } }
costs = { "less" => ->(spent) { spent.settle(15) }, "more" => ->(spent) { spent.settle(100) }, "unknown" => ->(_) {},
          "thrown" => ->(_) { raise IOError }, "killed" => ->(_) { Process.kill(:KILL, Process.pid) } }
spends = lambda do |what|
  next [200, {}, tokens.check!("one", 40, keep: true).stream(endless) { 1 }] if what == "endless"

  tokens.spend("one", 40, &costs.fetch(what))
  [200, {}, []]
rescue RL::Denied
  [429, {}, []]
end

use Rack::Attack
run(lambda do |env|
  # A server on a unix socket says that its clients are here.
  next spends.call(env["PATH_INFO"].delete_prefix("/spend/")) if env["PATH_INFO"].start_with?("/spend/")
  next logins.call(env.merge("REMOTE_ADDR" => "")) if env["PATH_INFO"].start_with?("/login/")

  result = case env["PATH_INFO"]
           when "/native" then rule.check("one")
           when "/hold" then jobs.check("one", keep: true).tap { |one| held << one }
           end
  [result.nil? || result.allowed? ? 200 : 429, { "X-Worker" => Process.pid.to_s }, ["#{Process.pid}\n"]]
end)
