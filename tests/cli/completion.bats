# SPDX-License-Identifier: BSD-2-Clause
# completion: asked as the shells ask, for every verb and option of the command table.

load common
load terminal

setup() {
	segment_setup
	"$FILL" "$segment" login 5 60000 1 alice=1
	"$FILL" "$segment" api 5 60000 1 alice=1
	config=$BATS_TEST_TMPDIR/rl.json
	echo '{"rules": {"one": {"limit": "5/min", "overrides": {"5 per": {"banned": true}}},
		"several": {"limits": [{"limit": "5/min"}, {"limit": "9/h"}]}}}' >"$config"
	verbs=$("$RLCTL" help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
	# The scripts call rlctl by that name.
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s "$(realpath "$RLCTL")" "$BATS_TEST_TMPDIR/bin/rlctl"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

teardown() {
	stop
	segment_teardown
}

options_of() {
	"$RLCTL" "$1" --help | sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p' | sort
}

# What bash proposes for the words of a command line, the last one being completed.
bash_proposes() {
	bash -c 'eval "$(rlctl completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		"$(complete -p "$1" | sed "s/.* -F \([^ ]*\) .*/\1/")"; printf "%s\n" "${COMPREPLY[@]}"' - "$@" | sort | paste -sd' '
}

fish_proposes() {
	rlctl_completion=$("$RLCTL" completion fish) fish --no-config -c \
		'echo $rlctl_completion | source' -c "complete -C '$*'" | cut -f1 | sort | paste -sd' '
}

@test "completion: an unknown shell is named" {
	rlctl completion csh
	in_trouble "unknown shell 'csh'; use bash, zsh or fish"
}

@test "completion bash: verbs, options, words, rules, segments, files" {
	"$RLCTL" completion bash >"$BATS_TEST_TMPDIR/script"
	shellcheck -s bash "$BATS_TEST_TMPDIR/script"
	[ "$(bash_proposes rlctl '')" = "$(sort <<<"$verbs" | paste -sd' ')" ]
	for verb in $verbs; do
		[ "$(bash_proposes rlctl "$verb" --)" = "$(options_of "$verb" | paste -sd' ')" ]
	done
	[ "$(bash_proposes rlctl st)" = 'stats status' ]
	[ "$(bash_proposes rlctl help pe)" = peek ]
	[ "$(bash_proposes rlctl list --sort re)" = 'recent remaining' ]
	[ "$(bash_proposes rlctl top -S us)" = used ]
	[ "$(bash_proposes rlctl completion '')" = 'bash fish zsh' ]
	[ "$(bash_proposes rlctl -s "$segment" get '')" = 'api login' ]
	[ "$(bash_proposes rlctl --segment "$segment" list --rule lo)" = login ]
	[ "$(bash_proposes rlctl --segment "$segment")" = "$segment" ]
	cd "$BATS_TEST_TMPDIR"
	touch my.dump
	[ "$(bash_proposes rlctl restore my)" = my.dump ]
	[ "$(bash_proposes rlctl ban --for '')" = '' ]
	[ "$(bash_proposes rlctl -s "$segment" get login '')" = '' ]
	[ "$(bash_proposes rlctl replay -a le)" = leaky_bucket ]
	[ "$(bash_proposes rlctl replay -f co)" = 'combined common' ]
	[ "$(bash_proposes rl-replay --su)" = --suggest ]
	[ "$(bash_proposes rl-replay -f co)" = 'combined common' ]
	[ "$(bash_proposes rlctl -s "$segment" config uns)" = unset ]
	export RL_CONFIG=$config
	[ "$(bash_proposes rlctl config set /rules/o)" = \
		'/rules/one/granularity /rules/one/hard /rules/one/limit /rules/one/mode' ]
	[ "$(bash_proposes rlctl config set /rules/several/l)" = "$(printf '%s ' /rules/several/limits \
		/rules/several/limits/{0,1}/{granularity,hard,limit,mode} | sed 's/ $//')" ]
	[ "$(bash_proposes rlctl config unset /rules/l)" = '' ] # of the segment alone
	RL_CONFIG=/nonexistent
	[ "$(bash_proposes rlctl config --config "$config" set /rules/one/l)" = /rules/one/limit ]
	"$RLCTL" -s "$segment" ban alice --for 1h
	"$RLCTL" -s "$segment" ban 'user:*' --for 1h --rule api
	[ "$(bash_proposes rlctl -s "$segment" unban '')" = 'alice user:*' ]
}

@test "completion fish: verbs, options, words, rules, segments, files" {
	[ "$(fish_proposes 'rlctl ')" = "$(sort <<<"$verbs" | paste -sd' ')" ]
	for verb in $verbs; do
		[ "$(fish_proposes "rlctl $verb --")" = "$(options_of "$verb" | paste -sd' ')" ]
	done
	[ "$(fish_proposes 'rlctl st')" = 'stats status' ]
	[ "$(fish_proposes 'rlctl help pe')" = peek ]
	[ "$(fish_proposes 'rlctl list --sort re')" = 'recent remaining' ]
	[ "$(fish_proposes 'rlctl completion ')" = 'bash fish zsh' ]
	[ "$(fish_proposes "rlctl -s $segment get ")" = 'api login' ]
	[ "$(fish_proposes "rlctl --segment $segment list --rule lo")" = login ]
	[ "$(fish_proposes "rlctl --segment $segment")" = "$segment" ]
	cd "$BATS_TEST_TMPDIR"
	touch my.dump
	[ "$(fish_proposes 'rlctl restore my')" = my.dump ]
	[ "$(fish_proposes "rlctl -s $segment get login ")" = '' ]
	[ "$(fish_proposes 'rlctl replay -a le')" = leaky_bucket ]
	[ "$(fish_proposes 'rl-replay --su')" = --suggest ]
	[ "$(fish_proposes 'rl-replay -a le')" = leaky_bucket ]
	[ "$(fish_proposes 'rlctl config uns')" = unset ]
	[ "$(fish_proposes "rlctl config -c $config set /rules/one/l")" = /rules/one/limit ]
	[ "$(RL_CONFIG=$config fish_proposes "rlctl config set /rules/several/limits/1/l")" = \
		/rules/several/limits/1/limit ]
	"$RLCTL" -s "$segment" ban alice --for 1h
	[ "$(fish_proposes "rlctl -s $segment unban ")" = alice ]
}

@test "completion zsh: verbs, options, words, rules, segments, files" {
	cd "$BATS_TEST_TMPDIR"
	touch my.dump
	"$RLCTL" completion zsh >script
	zsh -n script
	run_on_terminal 250 24 "ZDOTDIR=$BATS_TEST_TMPDIR PS1='ready> ' zsh -f"
	sees '^ready>'
	tm send-keys "autoload -U compinit; compinit -u -D; source ./script; clear" Enter
	sees_no compinit
	# type TEXT LINE: with a tab behind it, the text becomes the line.
	completes() {
		tm send-keys C-u "$1" Tab
		sees "^ready> $2\$"
	}
	completes 'rlctl resto' 'rlctl restore'
	completes 'rlctl list --sor' 'rlctl list --sort'
	completes 'rlctl list --sort den' 'rlctl list --sort denied'
	completes 'rlctl completion fi' 'rlctl completion fish'
	completes 'rlctl help pe' 'rlctl help peek'
	completes 'rlctl restore my' 'rlctl restore my.dump'
	completes "rlctl -s $segment get lo" "rlctl -s $segment get login"
	completes "rlctl -s $segment list --rule ap" "rlctl -s $segment list --rule api"
	completes "rlctl --segment ${segment%?}" "rlctl --segment $segment"
	completes 'rlctl replay -a lea' 'rlctl replay -a leaky_bucket'
	completes 'rl-replay -a lea' 'rl-replay -a leaky_bucket'
	completes "rlctl config --config $config set /rules/se" \
		"rlctl config --config $config set /rules/several/limits"
	for verb in $verbs; do
		for option in $(options_of "$verb"); do
			grep -q "^	$verb) " script
			sed -n "/^	$verb) /,/ ;;\$/p" script | grep -qF -- "'$option["
		done
	done
}
