#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# package.sh DIRECTORY: ruby-rl of that directory, installed in a Debian of its own with Puma and Rack::Attack: four
# workers admit exactly 50 of 400, rlctl shows them, and a purge leaves nothing. Exits 77 with the reason where it
# cannot run.
set -euo pipefail

debs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=bindings/common/tests/chroot.bash
. "$here/../../common/tests/chroot.bash"

make_root ruby,puma,unicorn,ruby-rack-attack,ruby-minitest,ruby-actionpack
mkdir "$root/root/tests"
cp "$here"/{helper.rb,servers.rb,config.ru,test_stores.rb,test_rack_attack.rb} "$root/root/tests"
cp "$debs"/librl1_*.deb "$debs"/rl-tools_*.deb "$debs"/ruby-rl_*.deb "$root/root/"
install_packages
in_root ruby -e 'gem "rl"; require "rl"; abort unless RL::VERSION == "0.9.0"' || fail 'gem "rl"'
in_root env RLCTL=/usr/bin/rlctl RL_RUBY_LIB=/nowhere ruby -W1 -e 'ARGV.each { |file| require file }' \
	/root/tests/{servers,test_stores,test_rack_attack}.rb >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail 'its tests'; }
purge ruby-rl
echo 'ruby-rl: installed, exactly 50 of 400 in Puma and Unicorn, Rack::Attack and Rails, purged'
