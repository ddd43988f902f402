# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What the servers' workers run: /native asks a rule, /attack a throttle of Rack::Attack, /hold takes a unit in
# flight and keeps it. Each answer names its worker.
require "rack/attack"
require "rl/rack_attack"

web = RL.open(ENV.fetch("RL_SEGMENT"), keys: 1000)
rule = web.rule("native", algorithm: :anchored_window, capacity: 50, window: "never")
jobs = web.rule("jobs", algorithm: :in_flight, capacity: 4)
held = []
Rack::Attack.cache.store = RL::RackAttackStore.new(web)
Rack::Attack.throttle("all", limit: 50, period: 3600 * 24 * 365) { |request| "one" if request.path == "/attack" }

use Rack::Attack
run(lambda do |env|
  result = case env["PATH_INFO"]
           when "/native" then rule.check("one")
           when "/hold" then jobs.check("one", keep: true).tap { |one| held << one }
           end
  [result.nil? || result.allowed? ? 200 : 429, { "X-Worker" => Process.pid.to_s }, ["#{Process.pid}\n"]]
end)
