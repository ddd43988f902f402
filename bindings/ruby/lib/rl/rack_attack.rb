# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require "rl/cache_store"

module RL
  # The store of Rack::Attack, for all workers of the host.
  #
  #   Rack::Attack.cache.store = RL::RackAttackStore.new("web")
  #
  # Throttles are counters. Bans of Fail2Ban and Allow2Ban are bans of the segment, under rules of the names
  # `fail2ban` and `allow2ban`: rlctl lists them, lifts them, and sets them.
  class RackAttackStore < CacheStore
    BANS = %w[fail2ban allow2ban].freeze
    # A rule to hang bans on. Nobody charges it.
    LIMIT = { algorithm: :anchored_window, capacity: (1 << 28) - 1, window: 86_400 }.freeze

    # `prefix` is that of Rack::Attack.cache; other options are those of CacheStore.
    def initialize(segment = "default", prefix: "rack::attack", space: "rack-attack", **options)
      super(segment, space: space, **options)
      @bans = BANS.to_h { |name| ["#{prefix}:#{name}:ban:", @segment.rule(name, **LIMIT)] }
    end

    # 1 for who is banned.
    def read(name, options = nil)
      rule, key = ban_of(name)
      return super unless rule

      rule.peek(key, now: now).reason == :ban ? 1 : nil
    end

    def write(name, value, expires_in: nil, **options)
      rule, key = ban_of(name)
      return super unless rule

      @segment.ban(key, rule: rule, until: until_ns(expires_in))
      true
    end

    def delete(name, options = nil)
      rule, key = ban_of(name)
      return super unless rule

      @segment.unban(key, rule: rule)
    end

    # Bans of these names, too. How many counters and bans there were.
    def delete_matched(pattern, options = nil)
      super + lift_bans(beginning(pattern))
    end

    private

    # The rule and the key of a name that is a ban's.
    def ban_of(name)
      name = name.to_s
      @bans.each do |beginning, rule|
        return [rule, key(name.delete_prefix(beginning))] if name.start_with?(beginning)
      end
      nil
    end

    def until_ns(expires_in)
      return unless expires_in

      from = now || @segment.now_ns
      from = (from.to_r * 1_000_000_000).to_i unless from.is_a?(Integer)
      from + (expires_in.to_r * 1_000_000_000).to_i
    end

    def lift_bans(prefix)
      @bans.sum do |beginning, rule|
        bans_of(rule).count do |ban|
          "#{beginning}#{ban[:key]}".start_with?(prefix) && @segment.unban(ban[:key], rule: rule)
        end
      end
    end

    def bans_of(rule)
      @segment.bans(**{ now: now }.compact).select do |ban|
        ban[:rule] == rule.name && ban[:match] == :key && !ban[:allow] && ban[:key]
      end
    end
  end
end
