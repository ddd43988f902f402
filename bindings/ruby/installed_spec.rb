# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Writes the specification of the gem as a package of Debian installs it: its files are in Ruby's own places, so
# it has none to tell and nothing to build. installed_spec.rb rl.gemspec
spec = Gem::Specification.load(ARGV.fetch(0))
spec.files = []
spec.extensions = []
spec.date = Time.at(Integer(ENV.fetch("SOURCE_DATE_EPOCH", "0"))).utc.strftime("%Y-%m-%d")
puts spec.to_ruby
