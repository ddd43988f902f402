# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require "rl"

module RL
  # Rack middleware: answers 429 to who is over the limit of a rule, and tells everybody where they are.
  #
  #   use RL::Middleware, RL.open("web").rule("page", "100/min")
  #
  # `key` gets the environment of a request and returns whom it counts for, or nil: nobody. By default that is the
  # address of the client, behind the proxies that are trusted. A request that cannot be decided is refused
  # with 503, or let through with on_error: :allow, and both are logged to rack.errors.
  class Middleware
    HEADERS = { ietf: /\ARate/, x: /\AX-/, none: /\A(?!)/ }.freeze

    def initialize(app, rule, key: nil, trusted: [], headers: :ietf, on_error: :deny)
      @app = app
      @rule = rule
      @proxies = Proxies.new(trusted)
      @key = key || method(:client)
      @headers = HEADERS.fetch(headers) { raise ArgumentError, "headers: #{headers.inspect} is none of #{HEADERS.keys}" }
      raise ArgumentError, "on_error: #{on_error.inspect} is neither :allow nor :deny" unless %i[allow deny].include?(on_error)

      @on_error = on_error
    end

    def call(env)
      key = @key.call(env)
      return @app.call(env) if key.nil?

      result = @rule.check(key.to_s)
      return undecided(env, result.error) if result.error
      return refuse(result) unless result.allowed?

      status, headers, body = @app.call(env)
      [status, headers.merge(fields(result)), body]
    end

    private

    def client(env)
      @proxies.find(env["REMOTE_ADDR"].to_s, env["HTTP_X_FORWARDED_FOR"]).first
    end

    def fields(result)
      result.headers.select { |name, _| name == "Retry-After" || name.match?(@headers) }
    end

    def refuse(result)
      [429, { "Content-Type" => "text/plain" }.merge(fields(result)), ["Too many requests\n"]]
    end

    def undecided(env, error)
      env["rack.errors"]&.puts("rl: rule #{@rule.name}: #{error}: #{@on_error} by on_error")
      return @app.call(env) if @on_error == :allow

      [503, { "Content-Type" => "text/plain" }, ["Cannot be decided\n"]]
    end
  end
end
