#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# That every section of the benchmark runs and tells something, and that a picture comes of it.
# No number of a quick run means anything.
set -eu

here=$(dirname "$0")
bench=$here/../../build/tests/bench/bench
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
	echo "bench: $*" >&2
	exit 1
}

"$bench" --quick --json >"$scratch/json" 2>"$scratch/log" || {
	cat "$scratch/log" >&2
	fail "a quick run failed"
}

expected='["costs","lines","growth","fill","scale","latency","scan","tables","peers","accuracy","memory","tools","move","replay"]'
jq -e "[.sections[].id] == $expected" "$scratch/json" >/dev/null || fail "sections are missing"
jq -e '[.sections[] | select(.id != "scan") | .rows | length > 3] | all' "$scratch/json" >/dev/null ||
	fail "a section tells nothing"
jq -e '[.sections[].rows[] | select(.unit != "lines") | select(.value > 0 | not)] == []' \
	"$scratch/json" >/dev/null || fail "a row was not measured"
jq -e '[.sections[] | select(.id == "lines") | .rows[] | select((.id | test("peek")) != (.value == 0))] == []' \
	"$scratch/json" >/dev/null || fail "a peek changes a line, or something else none"
# These do not depend on the machine.
more=$(jq -c '[.sections[] | select(.id == "lines") | .rows[] | select(.is_met == false) | .id]' "$scratch/json")
[ "$more" = '[]' ] || fail "changes more lines than before: $more"
jq -e '[.sections[] | .id as $s | .rows[] | "\($s).\(.id)"] | length == (unique | length)' \
	"$scratch/json" >/dev/null || fail "two rows have one name"
jq -e '[.sections[].notes[] | select(test("skipped"))] == []' "$scratch/json" >/dev/null ||
	fail "something was skipped: $(jq -c '[.sections[].notes[] | select(test("skipped"))]' "$scratch/json")"
jq -e '.sections[] | select(.id == "accuracy") | .rows[] | select(.id == "rl") | .ratio == 1' \
	"$scratch/json" >/dev/null || fail "rl admitted other than what is allowed"

# A quick run has no large tables; with them made up, it draws.
"$here/picture.py" "$scratch/json" >/dev/null 2>"$scratch/log" && fail "drew a picture of rows that are not there"
grep -q "section 'growth' has no row '1M_one'" "$scratch/log" || fail "did not name the row that is missing"
jq '(.sections[] | select(.id == "growth") | .rows) |=
	. + [.[] | select(.id | test("^1k_")) | .id |= sub("1k"; "1M")]
	  + [.[] | select(.id | test("^1k_")) | .id |= sub("1k"; "10M")]' \
	"$scratch/json" >"$scratch/whole"
"$here/picture.py" "$scratch/whole" >"$scratch/svg" || fail "no picture"
grep -q '</svg>' "$scratch/svg" || fail "the picture has no end"
[ "$(grep -c '<circle' "$scratch/svg")" -eq 12 ] || fail "the picture lacks points"

# Documents take their figures from it, each of them from a row that there is.
mkdir "$scratch/docs"
cp "$here/../../README.md" "$scratch"
cp "$here/../../docs/NUMBERS.md" "$scratch/docs"
"$here/figures.py" "$scratch/whole" "$scratch" >"$scratch/log" 2>&1 || fail "no figures: $(cat "$scratch/log")"
[ ! -s "$scratch/log" ] || fail "$(cat "$scratch/log")"
grep -n '{[a-z]*[. ]' "$scratch/docs/NUMBERS.md" && fail "a figure has no value"
jq 'del(.sections[] | select(.id == "memory"))' "$scratch/whole" >"$scratch/part"
"$here/figures.py" "$scratch/part" "$scratch" | grep -q 'section memory was not run' || fail "did not tell what it kept"

"$bench" nonsense 2>"$scratch/log" && fail "ran a section that is none"
grep -q "no section 'nonsense'" "$scratch/log" || fail "did not name the section that is none"
echo "bench: every section runs"
