# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require "rack/body_proxy"
require "rl"

module RL
  # Rack middleware: answers 429 to who is over the limit of a rule, and tells everybody where they are.
  #
  #   use RL::Middleware, RL.open("web").rule("page", "100/min")
  #
  # `key` gets the environment of a request and returns whom it counts for, or nil: nobody. By default that is the
  # address of the client, behind the proxies that are trusted; of IPv6 its first `client_v6` bits, 64. A request that
  # cannot be decided is refused with 503, or let through with on_error: :allow, and both are logged to rack.errors.
  #
  # `count_status` says which answers count: [401, "5xx"], or what is called with the status and the environment. A request
  # is charged before it is served, so that no number of them at once passes, and given back before its answer is sent if
  # that does not count. An exception is a 500. What ends without an answer counts. Units in flight are held until the
  # body is closed.
  class Middleware
    IETF = /\Arate/
    HEADERS = { ietf: IETF, "ietf-11": IETF, "ietf-7": IETF, x: /\Ax-/, none: /\A(?!)/ }.freeze

    def initialize(app, rule, key: nil, trusted: [], client_v6: 64, headers: :ietf, on_error: :deny, count_status: nil)
      @app = app
      @rule = rule
      @proxies = Proxies.new(trusted, prefix_v6: client_v6)
      @key = key || method(:client)
      @headers = HEADERS.fetch(headers) { raise ArgumentError, "headers: #{headers.inspect} is none of #{HEADERS.keys}" }
      @set = @headers == IETF ? headers : :ietf
      raise ArgumentError, "on_error: #{on_error.inspect} is neither :allow nor :deny" unless %i[allow deny].include?(on_error)

      @on_error = on_error
      @counted = counted(count_status)
    end

    def call(env)
      key = @key.call(env)
      return @app.call(env) if key.nil?

      result = @rule.check(key.to_s, keep: true)
      return undecided(env, result) if result.error
      return refuse(result) unless result.allowed?

      serve(env, result)
    end

    private

    # What is called with a status and the environment; nil: all answers count.
    def counted(given)
      return given if given.nil? || given.respond_to?(:call)

      all = Array(given).map { |one| one.to_s.downcase }
      wrong = all.find { |text| !text.match?(/\A[1-5](xx|\d\d)\z/) }
      raise ArgumentError, "count_status: #{(wrong || given).inspect}; [401, \"4xx\"] or what can be called is needed" if wrong || all.empty?

      ->(status, _env) { all.include?(status.to_s) || all.include?("#{status.to_i / 100}xx") }
    end

    def serve(env, result)
      status, headers, body = @app.call(env)
      judge(env, result, status.to_i)
      body = Rack::BodyProxy.new(body) { result.release } if result.holding?
      answer = [status, headers.merge(fields(result)), body]
    rescue StandardError
      judge(env, result, 500)
      raise
    ensure
      result.release unless answer
    end

    # An answer that is there stays as it is.
    def judge(env, result, status)
      result.refund(holds: false) unless @counted.nil? || @counted.call(status, env)
    rescue StandardError => e
      env["rack.errors"]&.puts("rl: rule #{@rule.name}: an answer counts that may not: #{e.message}")
    end

    def client(env)
      @proxies.find(env["REMOTE_ADDR"].to_s, env["HTTP_X_FORWARDED_FOR"]).first
    end

    # In lower case, as Rack 3 asks of all names.
    def fields(result)
      result.headers(set: @set).transform_keys(&:downcase).select { |name, _| name == "retry-after" || name.match?(@headers) }
    end

    def refuse(result)
      problem(result, 429, fields(result))
    end

    def problem(result, status, fields)
      [status, { "content-type" => "application/problem+json" }.merge(fields), [result.problem(status)]]
    end

    def undecided(env, result)
      env["rack.errors"]&.puts("rl: rule #{@rule.name}: #{result.error}: #{@on_error} by on_error")
      return @app.call(env) if @on_error == :allow

      problem(result, 503, {})
    end
  end
end
