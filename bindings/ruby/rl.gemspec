# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
require_relative "lib/rl/version"

Gem::Specification.new do |s|
  s.name = "rl"
  s.version = RL::VERSION
  s.summary = "One rate limit shared by all worker processes of a host"
  s.description = "Limits in shared memory for Puma, Unicorn, Rack::Attack and Rails: no server to ask, no lock to wait for."
  s.authors = ["rl maintainers"]
  s.license = "BSD-2-Clause"
  s.required_ruby_version = ">= 3.0"
  s.files = Dir.chdir(__dir__) { Dir["{lib,ext,common,rl,sig}/**/*.{rb,rbs,c,h,def,map}", "README.md", "LICENSE", "VERSION"] }
  if File.exist?(File.join(__dir__, "lib/rl/rl_ext.so")) # built: for this kind of machine and this Ruby
    s.platform = Gem::Platform.local
    s.required_ruby_version = "~> #{RbConfig::CONFIG["ruby_version"]}"
    s.files = Dir.chdir(__dir__) { Dir["{lib,sig}/**/*.{rb,rbs,so}", "README.md", "LICENSE", "VERSION"] }
  else
    s.extensions = ["ext/extconf.rb"]
  end
  s.require_paths = ["lib"]
end
