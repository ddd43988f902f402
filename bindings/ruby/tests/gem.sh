#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The gem: it installs where no librl is, from the sources it has, and counts in the segment that rlctl shows.
# shellcheck disable=SC2016 # what is quoted is Ruby
set -euo pipefail

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
[ "$version" = "$(ruby -Ibindings/ruby/lib -e 'require "rl/version"; puts RL::VERSION')" ] ||
	{ echo "lib/rl/version.rb is not the Makefile's $version"; exit 1; }
make -s "build/ruby-gem/rl-$version.gem"
home=$(mktemp -d)
name=ruby-gem-$$
trap 'rm -rf "$home"; build/rlctl --segment "$name" unlink --yes >/dev/null 2>&1 || true' EXIT
unset LD_LIBRARY_PATH
RL_CFLAGS=-O0 MAKEFLAGS=-j2 PKG_CONFIG_LIBDIR=/nonexistent gem install --local --no-document --install-dir "$home" "build/ruby-gem/rl-$version.gem" >"$home/log" 2>&1 ||
	{ cat "$home/log"; exit 1; }
GEM_HOME=$home GEM_PATH=$home ruby -e '
	gem "rl"
	require "rl"
	rule = RL.open(ARGV[0], keys: 100).rule("login", "2/h")
	abort "not two of three" unless Array.new(3) { rule.allow?("alice") } == [true, true, false]
	abort "no signatures" unless File.exist?(File.join(Gem.loaded_specs["rl"].full_gem_path, "sig/rl.rbs"))
	abort "not the gem" unless $LOADED_FEATURES.grep(/rl_ext/).first.start_with?(ENV["GEM_HOME"])
' "$name"
build/rlctl --segment "$name" get login alice | grep '2' >/dev/null
! ldd "$(find "$home" -name rl_ext.so | head -1)" | grep librl
