# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# The jobs of the test, for Sidekiq.
require "rl/sidekiq"

REDIS = { path: ENV.fetch("RL_REDIS") }.freeze
WORK = ENV.fetch("RL_WORK")
Sidekiq.configure_client { |config| config.redis = REDIS }
Sidekiq.configure_server do |config|
  config.redis = REDIS
  config.options[:poll_interval_average] = 0.2
  config.server_middleware { |chain| chain.add RL::SidekiqMiddleware, ENV.fetch("RL_SEGMENT") }
end
Sidekiq.logger.level = Logger::WARN

def tell(what, number)
  line = format("%<what>s %<number>d %<pid>d %<at>.6f\n", what: what, number: number, pid: Process.pid, at: Time.now.to_f)
  File.open("#{WORK}/told", "a") { |file| file.syswrite(line) }
end

class Held
  include Sidekiq::Worker
  sidekiq_options rl: { "rule" => "two", "algorithm" => "in_flight", "capacity" => 2 }, retry: false

  def perform(number)
    %w[lock-0 lock-1].each do |name|
      File.open("#{WORK}/#{name}", "r+") do |lock|
        next unless lock.flock(File::LOCK_EX | File::LOCK_NB)

        tell("begin", number)
        sleep(0.06)
        tell("end", number)
        return nil
      end
    end
    tell("third", number)
  end
end

class Rated
  include Sidekiq::Worker
  sidekiq_options rl: { "rule" => "rate", "limit" => "20/s" }, retry: false

  def perform(number)
    tell("rated", number)
  end
end

if ARGV.size == 2 && $PROGRAM_NAME == __FILE__
  job = { "held" => Held, "rated" => Rated }.fetch(ARGV[0])
  Integer(ARGV[1]).times { |number| job.perform_async(number) }
end
