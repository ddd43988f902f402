# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
module RL
  # A segment that this process has open. Most of it is in C.
  class Segment
    # A segment is of the main Ractor, as its rules and results are: one handle at a time is looked at.
    def self.new(...)
      return super if Ractor.current == Ractor.main

      raise Ractor::UnsafeError, "rl: a segment is opened and asked in the main Ractor alone. Remedy: processes or threads"
    end

    # The rule of that name: defined by `limit` ("5/min") or fields as in rl.json(5), or, without any, as
    # somebody else has defined or configured it.
    def rule(name, limit = nil, limits: nil, keep: false, **fields)
      fields[:limit] = limit if limit
      return Rule.find(self, name.to_s) if fields.empty? && limits.nil?

      Rule.define(self, name.to_s, limits || [{}], fields, keep)
    end

    # The counters of that name, made if they are not there, unless `create` is false.
    def counters(name, create: true)
      Counters.open(self, name.to_s, create)
    end

    # Ask several rules for one request: all of them allow it, and it is charged to all, or nothing is.
    # An item is [rule, key], [rule, key, cost] or [rule, key, cost, {capacity: 10}].
    def check_all(items, now: nil, keep: false)
      Answers.new(*decide_all(items, now, keep, nil))
    end

    # The same for bookings: see Rule#reserve. Each result has its own delay.
    def reserve_all(items, max_wait:, now: nil)
      Answers.new(*decide_all(items, now, true, max_wait))
    end

    # Ask for many requests, each by itself. => [result, ...]
    def check_many(items, now: nil)
      decide_many(items, now)
    end

    # Deny a key until a time, or for so many seconds, or until unban; under one rule or under all of them.
    # match: :key, :prefix or :network.
    def ban(key, rule: nil, match: :key, until: nil, for: nil)
      set_ban(rule, match, key, end_of(binding.local_variable_get(:until), binding.local_variable_get(:for)))
    end

    # Exempt a key from limits, as above.
    def allow(key, rule: nil, match: :key, until: nil, for: nil)
      set_allow(rule, match, key, end_of(binding.local_variable_get(:until), binding.local_variable_get(:for)))
    end

    # End a ban or an exemption: true if there was one.
    def unban(key, rule: nil, match: :key)
      set_unban(rule, match, key)
    end

    # Forget what keys have used: of one rule or of counters, or of all; those that match, or all of them.
    # => [how many were forgotten, how many could not be judged]
    def reset_matching(key = nil, rule: nil, match: key ? :key : nil)
      reset_many(rule, match, key)
    end

    private

    def end_of(time, seconds)
      raise ArgumentError, "until or for, and not both" if time && seconds
      return time unless seconds
      return now_ns + (seconds * 1_000_000_000).round if seconds >= 0

      raise ArgumentError, "for: #{seconds.inspect} is before now"
    end
  end
end
