# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# What stands for the extension on a system that is not Linux, so that a program can be installed and loaded where it is
# written. The first segment says what to do. With RL_OFF=1 it opens nothing, allows everything and counts nothing, after
# one warning.
module RL
  NEVER_NS = (1 << 64) - 1

  # As the extension's.
  class Error < StandardError
    attr_reader :errno, :code

    def self.of(errno, what)
      new(what.to_s).tap do |error|
        error.instance_variable_set(:@errno, errno)
        error.instance_variable_set(:@code, Errno.constants.find { |name| Errno.const_get(name)::Errno == errno }.to_s)
      end
    end
  end

  # Whether the program may go on without limits.
  module Off
    WHAT = "its counters are in the shared memory of Linux, and this is #{RbConfig::CONFIG['host_os']}. " \
           "Remedy: run it in a container, or set RL_OFF=1 to allow everything here"

    def self.refuse
      raise Error.of(Errno::ENOSYS::Errno, "rl: #{WHAT}")
    end

    def self.look
      refuse unless ENV["RL_OFF"] == "1"
      warn "rl: RL_OFF=1: nothing is limited" unless @is_warned
      @is_warned = true
    end
  end
  private_constant :Off

  def self.unlink(_name)
    nil
  end

  def self.rate(_text)
    Off.refuse
  end

  def self.key_digest(_key)
    Off.refuse
  end

  # Allowed, and nothing else is known.
  class Result
    attr_reader :rule

    def initialize(rule)
      @rule = rule
    end

    { allowed?: true, pass?: true, denied?: false, verdict: :allowed, reason: :exemption, error: nil, shadow_denied?: false,
      index: 0, limit: 0, remaining: 0, used: 0, retry_after: 0.0, retry_after_ns: 0, reset_after: 0.0, reset_after_ns: 0,
      delay: 0.0, delay_ns: 0, window: 0.0, window_ns: 0, holding?: false, release: false }.each do |name, value|
      define_method(name) { value }
    end

    def headers(reset: :delta, set: :ietf)
      {}
    end

    def problem(_status)
      ""
    end

    def refund(now: nil, holds: true)
      false
    end

    def settle(_actual, now: nil)
      false
    end
  end

  # Neither its name nor its limits are looked at.
  class Rule
    attr_reader :segment, :name

    def self.define(segment, name, *)
      new(segment, name)
    end

    def self.find(segment, name)
      new(segment, name)
    end

    def initialize(segment, name)
      @segment = segment
      @name = name
    end

    def check(_key, _cost = 1, **)
      Result.new(self)
    end
    alias peek check
    alias reserve check

    def allow?(_key, _cost = 1, **)
      true
    end

    def check_limits(_key, _cost = 1, **)
      [Result.new(self), []]
    end

    def refund(_key, _cost = 1, **)
      0
    end

    def reset(_key)
      false
    end

    def limits
      []
    end

    def stats
      {}
    end
  end

  # What a counter answers: there is none.
  class Count
    { done: false, value: 0, expires_after_ns: 0, is_new: false }.each { |name, value| define_method(name) { value } }
  end

  # Counters that count nothing.
  class Counters
    attr_reader :segment, :name

    def self.open(segment, name, _create)
      new(segment, name)
    end

    def initialize(segment, name)
      @segment = segment
      @name = name
    end

    def add(_key, _amount = 1, _lifetime = nil, now: nil)
      Count.new
    end
    alias set add
    alias set_new add
    alias get add
    alias touch add

    def drop(_key, now: nil)
      false
    end

    def reset(_key)
      false
    end
  end

  # Whoever asks is the client.
  class Proxies
    def initialize(_networks, **); end

    def find(peer, _field)
      [peer, :found, 0]
    end
  end

  # A segment that is not there.
  class Segment
    def initialize(_name = "default", **)
      Off.look
      @is_closed = false
    end

    def close
      @is_closed = true
      nil
    end

    def closed?
      @is_closed
    end

    def now_ns
      Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
    end

    def look
      false
    end

    def give_back
      0
    end

    def forget(_name)
      false
    end

    def info
      {}
    end

    def rule_names
      []
    end

    def bans(now: nil)
      []
    end

    private

    def set_ban(*)
      nil
    end
    alias set_allow set_ban

    def set_unban(*)
      false
    end

    def reset_many(*)
      [0, 0]
    end

    def decide_all(items, *)
      [:allowed, nil, decide_many(items)]
    end

    def decide_many(items, *)
      items.map { |rule, *| Result.new(rule) }
    end
  end
end
