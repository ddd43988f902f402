# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
module RL
  # A rule of a segment. Most of it is in C.
  class Rule
    # As check, but raises Denied unless the request may pass.
    def check!(key, cost = 1, **options)
      result = check(key, cost, **options)
      raise Denied, result unless result.pass?

      result
    end

    # Take units of an in_flight limit for as long as the block runs. Raises Denied if there are none left.
    def hold(key, units = 1, **options)
      result = check!(key, units, keep: true, **options)
      yield result
    ensure
      result&.release
    end

    # Charge an estimate of what a request will cost, which the block settles. What it does not settle stays, also after an
    # exception. Raises Denied if there is not so much left.
    def spend(key, estimate = 1, **options, &block)
      hold(key, estimate, **options, &block)
    end

    def inspect
      "#<RL::Rule #{name}>"
    end
  end

  class Result
    def inspect
      "#<RL::Result #{verdict} by #{rule.name}, #{error || "#{remaining} of #{limit} remaining"}>"
    end
  end
end
