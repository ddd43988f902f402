#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Explore the models of the lock-free protocols: table.pml (libshm/table/table.c), ring.pml
# (libshm/algorithm/ring.h, libshm/algorithm/window.c), in_flight.pml (libshm/holder/holder.c, and
# totals in flight), flood.pml (keys without a slot, which share an overflow counter), lanes.pml (how
# they share it), share.pml (a store that lends capacity to hosts), lease.pml (the one lease of a
# segment's shares), wish.pml (who waits for what is free gets it) and move.pml (libshm/move/move.c: a
# key on its way from one table to another).
#
#   run.sh [check]   bounded configurations and mutants, within two minutes
#   run.sh torture   the same with larger bounds, a quarter of an hour and up to 4 GB
#
# `holds` means that every state was reached and no assertion failed; a search cut short by
# depth or memory is a failure. A mutant leaves one protection out and must be `caught`, by an
# assertion; one of wish.pml, whose runs are to end, by one that does not. Two protections are shown
# to be spare where they stand alone; those hold.
#
# BUILD is where everything is written; build/model under the repository by default. The
# trail of a failure stays there: spin -t -p replays it.
# Exits 0 if all is as expected, 1 if not, 2 if it could not run.
set -euo pipefail
export LC_ALL=C

readonly DEPTH=500000  # more than any search here needs
readonly MEGABYTES=4000
COMPILER=(tcc) # of searches of a second: gcc takes as long to compile one
PACK=()        # how states are stored
SEARCH=(-DSAFETY)
RUN=()

here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$(cd "$here/../.." && pwd)/build/model}
passed=0
failed=0

usage() {
	echo 'usage: run.sh [check | torture]' >&2
	exit 2
}

need() {
	if ! command -v "$1" >/dev/null; then
		echo "run.sh: $1 is not installed: the models cannot be explored" >&2
		exit 2
	fi
}

# expect holds|caught NAME MODEL [-DFLAG...]
expect() {
	local wanted=$1 name=$2 model=$3 dir begin_with=23 begin micros states verdict
	local compiler=("${COMPILER[@]}")
	shift 3
	dir=$build/$model-${name//[^A-Za-z0-9]/-}
	rm -rf "$dir"
	mkdir -p "$dir"
	if [[ $wanted == caught ]]; then
		compiler=(tcc) # a mutant fails at once
		begin_with=20
	fi
	begin=${EPOCHREALTIME/./}
	if ! (
		cd "$dir"
		cp "$here/$model.pml" .
		spin -a "$@" "$model.pml" >spin.out 2>&1
		# No partial order reduction: every step is an access to a shared word.
		"${compiler[@]}" -w "${SEARCH[@]}" -DNOREDUCE "${PACK[@]}" "-DMEMLIM=$MEGABYTES" \
			-o pan pan.c >compiler.out 2>&1
	); then
		cat "$dir"/*.out >&2
		verdict='does not compile'
	else
		(cd "$dir" && ./pan -n -E "${RUN[@]}" "-w$begin_with" "-m$DEPTH" >pan.out 2>&1) || true
		verdict=$(judge "$dir/pan.out")
	fi
	micros=$((${EPOCHREALTIME/./} - begin))
	states=$(awk '/states, stored/ { print $1 }' "$dir/pan.out" 2>/dev/null || true)
	if [[ $verdict == "$wanted" ]]; then
		passed=$((passed + 1))
	else
		verdict="FAILED: $verdict, expected: $wanted"
		failed=$((failed + 1))
	fi
	printf '%-5s  %-34s %10s states %4d.%01d s  %s\n' "$model" "$name" "${states:--}" \
		$((micros / 1000000)) $((micros / 100000 % 10)) "$verdict"
}

judge() {
	if grep -qE 'assertion violated|pan:1: non-progress cycle' "$1"; then
		echo caught
	elif grep -qE 'max search depth too small|reached -DMEMLIM|out of memory|truncated' "$1"; then
		echo 'search cut short'
	elif grep -q 'errors: 0$' "$1" && grep -q 'states, stored' "$1" &&
		! grep -q 'Search not completed' "$1"; then
		echo holds
	else
		echo 'no result'
	fi
}

holds() { expect holds "$@"; }
caught() { expect caught "$@"; }

# lives holds|caught ...: each run ends that is fair to all processes.
lives() {
	local SEARCH=(-DNP) RUN=(-l -f)
	expect "$@"
}

table_check() {
	holds 'two users, look over'   table -DSLOTS=2 -DLOOK_OVER -DCAP=1
	holds 'three slots'            table -DGENS=1
	holds 'three slots, look over'  table -DGENS=1 -DCAP=1 -DLOOK_OVER
	holds 'three users, three slots' table -DUSERS=3 -DSWEEPERS=0 -DGENS=1
	holds 'two keys'               table -DUSERS=1 -DOTHERS=1 -DSLOTS=2
	holds 'two sweepers'           table -DUSERS=1 -DSWEEPERS=2 -DSLOTS=2
	holds 'all but one killed'     table -DSLOTS=2 -DSOLO=40 -DLOOK_OVER -DGENS=1 -DCAP=1
}

table_mutants() {
	local mutant
	for mutant in IGNORE_LEAVING NO_TIE_BREAK IGNORE_LOWER IGNORE_HIGHER IGNORE_LIVE NO_RESCAN \
		CONTINUE_AT_LOWER HELP_WITHOUT_LOOK; do
		caught "$mutant" table -DCAP=1 "-D$mutant"
	done
	for mutant in STRAIGHT_TO_LIVE NO_GEN GEN_WRAPS GEN_IGNORED NO_SECOND_LOOK \
		CHARGE_THE_DEAD RETIRE_WITHOUT_DEAD RETIRE_ANY_COUNT DEAD_KEEPS_GEN; do
		caught "$mutant" table -DSLOTS=2 "-D$mutant"
	done
	caught RETIRE_WITHOUT_SECOND_LOOK table -DUSERS=1 -DSWEEPERS=2 -DSLOTS=2 \
		-DRETIRE_WITHOUT_SECOND_LOOK
	caught WAIT_FOR_CLAIMER table -DSLOTS=2 -DSOLO=40 -DLOOK_OVER -DGENS=1 -DCAP=1 -DWAIT_FOR_CLAIMER
}

ring_check() {
	holds 'granularity 2'          ring -DT=4 -DREFUNDS
	holds 'granularity 3'          ring -DN=3 -DT=5 -DREFUNDS
	holds 'estimate'               ring -DREFUNDS -DESTIMATE
	holds 'three workers'          ring -DWORKERS=3 -DT=3
	holds 'all but one killed'     ring -DT=3 -DREFUNDS -DSOLO=40
	holds 'entries of 4 epochs, alone' ring -DWORKERS=1 -DT=7 -DALIAS=4 -DREFUNDS
	holds 'late refunds, all but one killed' ring -DT=3 -DLATE -DSOLO=45
	holds 'late refunds, retired'  ring -DWORKERS=1 -DRETIRERS=1 -DGENS=2 -DT=4 -DLATE
	holds 'debts and late refunds' ring -DT=3 -DDEBTS=3 -DLATE
	holds 'retire and reclaim'     ring -DWORKERS=1 -DRETIRERS=1 -DGENS=2 -DT=3
	holds 'a share'                ring -DWORKERS=1 -DT=3 -DSHARES=2 -DREFUNDS
	holds 'a share, two workers'   ring -DT=2 -DSHARES=1
	holds 'a share, retired'       ring -DWORKERS=1 -DT=1 -DRETIRERS=1 -DGENS=2 -DSHARES=1 -DBLIND=1
}

ring_mutants() {
	local mutant
	for mutant in JUMP_OWN NO_FREEZE STORE_WITHOUT_RECHECK STORE_BLINDLY CLOSE_WITHOUT_STORE \
		REFUND_ANY_EPOCH TIME_GOES_BACK; do
		caught "$mutant" ring -DT=5 -DREFUNDS "-D$mutant"
	done
	caught LEAVES_STAY ring -DREFUNDS -DLEAVES_STAY
	for mutant in SUM_SUBTRACTS SUM_BLINDLY NO_ADD_UP; do
		caught "$mutant" ring -DT=5 -DLATE "-D$mutant"
	done
	for mutant in DEBT_BLINDLY DEBT_UNBOUNDED ONE_TOO_MANY; do
		caught "a debt, $mutant" ring -DT=3 -DDEBTS=3 "-D$mutant"
	done
	caught DEBT_FROZEN ring -DT=5 -DDEBTS=3 -DREFUNDS -DDEBT_FROZEN
	caught ONE_TOO_MANY ring -DONE_TOO_MANY
	caught RESTART_KEEPS_SPAN ring -DT=5 -DRESTART_KEEPS_SPAN
	caught COPY_WITHOUT_RECHECK ring -DT=5 -DCOPY_WITHOUT_RECHECK
	caught NO_ZERO_FILL ring -DT=5 -DNO_ZERO_FILL
	# A process that sleeps through as many sub-buckets as an entry's epoch has values.
	caught 'entries of 4 epochs' ring -DT=7 -DALIAS=4
	caught NO_GEN_IN_ENTRY ring -DRETIRERS=1 -DGENS=2 -DT=3 -DNO_GEN_IN_ENTRY
	caught WAIT_WHILE_FROZEN ring -DT=3 -DREFUNDS -DSOLO=40 -DWAIT_WHILE_FROZEN
	# A frozen cur only falls, which is no harm: stores and the close expect the exact word, and no entry has the
	# same value twice. One that rises as well is; and whoever charges it does not count what leaves.
	caught CHARGE_FROZEN ring -DREFUNDS -DCHARGE_FROZEN
}

# What they come to: a wrong sum, or more admitted than the capacity.
ring_sums() {
	local mutant
	for mutant in JUMP_OWN NO_FREEZE STORE_WITHOUT_RECHECK STORE_BLINDLY CLOSE_WITHOUT_STORE \
		REFUND_ANY_EPOCH TIME_GOES_BACK; do
		caught "$mutant, by its sums" ring -DT=5 -DREFUNDS -DSUMS_ONLY "-D$mutant"
	done
	caught 'NO_ZERO_FILL, by its sums' ring -DWORKERS=1 -DT=7 -DALIAS=4 -DREFUNDS \
		-DSUMS_ONLY -DNO_ZERO_FILL
	caught 'CHARGE_FROZEN, by its sums' ring -DT=5 -DREFUNDS -DSUMS_ONLY -DCHARGE_FROZEN
	# A copy that lost its sub-buckets counts less, and the CAS of what it admits then fails;
	# only what is reported from it would be wrong.
	holds 'COPY_WITHOUT_RECHECK, by its sums' ring -DT=5 -DREFUNDS -DSUMS_ONLY \
		-DCOPY_WITHOUT_RECHECK
}

ring_share_mutants() {
	local mutant
	for mutant in NO_CARRY SEND_BEFORE_LOWER LEND_WITHOUT_CAS TIME_GOES_BACK; do
		caught "a share, $mutant" ring -DWORKERS=1 -DT=4 -DSHARES=2 "-D$mutant"
	done
	# A share below the load is asked for with the load: that is how one ends whose lease is over.
	holds 'a share, BELOW_LOAD alone' ring -DWORKERS=1 -DT=3 -DSHARES=2 -DBELOW_LOAD
	caught 'BELOW_LOAD, ASK_WITHOUT_LOAD' ring -DWORKERS=1 -DT=4 -DSHARES=2 -DBELOW_LOAD -DASK_WITHOUT_LOAD
}

move_check() {
	holds 'a reset'                move -DWORKERS=1 -DOPS=2 -DRESETS=1
	holds 'an eviction'            move -DWORKERS=1 -DOPS=2 -DEVICTIONS=1
	holds 'two movers'             move -DREUSED -DWORKERS=1 -DOPS=2 -DMOVERS=2
	holds 'all but one killed'     move -DREUSED -DMOVERS=0 -DSOLO=45
}

move_mutants() {
	local mutant
	for mutant in LIVE_WITHOUT_LOOK TENT_STAYS; do
		caught "$mutant" move -DREUSED "-D$mutant"
	done
	for mutant in NO_SEAL MARK_FIRST CHARGE_WITHOUT_LOOK SETTLE_EARLY CHARGE_ZEROS SAME_NONCE NO_TAG_AGAIN; do
		caught "$mutant" move "-D$mutant"
	done
	caught CARRY_OVER move -DCAP=2 -DCARRY_OVER
	caught NO_SECOND_LOOK move -DWORKERS=1 -DMOVERS=2 -DRESETS=1 -DNO_SECOND_LOOK
	caught 'too few steps' move -DREUSED -DMOVERS=0 -DSOLO=8
}

share_check() {
	holds 'leases that end'        share -DENDS
	holds 'blind'                  share -DBLIND=1 -DASKS=1 -DT=4
	holds 'a sleeper'              share -DSLEEPER -DASKS=1 -DT=6
	holds 'the capacity changes'   share -DLIMIT_CHANGES -DCAP=2 -DASKS=1
	holds 'the store loses its tail' share -DLOSES -DASKS=1 -DT=4
	holds 'answers of a replica'   share -DLOSES -DWAITS -DASKS=1 -DT=4
	holds 'a lease'                lease -DT=4
}

share_mutants() {
	local mutant
	for mutant in ADVANCE_FIRST ANSWER_TOO_LATE TRUSTS_AFTER_RESTART; do
		caught "$mutant" lease "-D$mutant"
	done
	for mutant in RAISE_EARLY LEASE_FROM_ANSWER SEQ_RESTARTS SAME_FIELD; do
		caught "$mutant" share "-D$mutant"
	done
	caught SEND_BEFORE_LOWER share -DT=4 -DSEND_BEFORE_LOWER
	caught ACCEPT_OLD share -DASKS=3 -DACCEPT_OLD
	caught GRANT_USED share -DBLIND=1 -DGRANT_USED
	caught 'HOLD of 0' share -DHOLD=0 -DLEASE=2
	caught TAKE_AWAY share -DLIMIT_CHANGES -DCAP=2 -DTAKE_AWAY
	caught TTL_LAST share -DLEASE0=3 -DT=4 -DWINDOW=1 -DTTL_LAST
	caught ASK_WITHOUT_LOAD share -DENDS -DASK_WITHOUT_LOAD
	caught 'BELOW_LOAD, ASK_WITHOUT_LOAD' share -DBELOW_LOAD -DASK_WITHOUT_LOAD
	caught NO_EXTRA share -DLOSES -DNO_EXTRA
	caught NO_SLACK share -DSLEEPER -DASKS=1 -DT=6 -DNO_SLACK
}

share_torture() {
	holds 'strict, longer'         share -DCAP=2 -DT=4
	holds 'blind, longer'          share -DBLIND=1 -DT=4
	holds 'three requests'         share -DASKS=3 -DT=4
	holds 'the capacity changes, longer' share -DLIMIT_CHANGES -DCAP=2
	holds 'leases of two lengths'  share -DLEASE0=2 -DT=5
	holds 'three hosts'            share -DHOSTS=3 -DASKS=1 -DT=4
	holds 'the store loses its tail, longer' share -DLOSES
	holds 'answers of a replica, longer' share -DLOSES -DWAITS
	holds 'leases that end, longer' share -DENDS -DCAP=2
	holds 'a lease, longer'        lease -DT=6
	caught NO_SEQ share -DASKS=3 -DCAP=2 -DNO_SEQ
	caught GRANTS_ONLY share -DLOSES -DGRANTS_ONLY
}

wish_check() {
	lives holds 'a question is lost'   wish -DLOTS=0
	lives holds 'the same lot'         wish -DLOSSES=0
	lives holds 'one caller, no calls' wish -DLOTS=0 -DONE_CALLER -DNO_CALLS
}

wish_mutants() {
	local mutant
	for mutant in NO_LOT SHORT_OF_ONE PARTS NO_CALLS IDLE_KEEPS NOBODY_IS_TOLD; do
		lives caught "$mutant" wish -DLOSSES=0 "-D$mutant"
	done
}

wish_torture() {
	lives holds 'a loss and the same lot' wish
	lives holds 'two losses'           wish -DLOSSES=2 -DLOTS=0
	lives holds 'a capacity of 4'      wish -DC=4 -DLOTS=0
}

table_torture() {
	holds 'three users'            table -DUSERS=3 -DSLOTS=2 -DGENS=1 -DCAP=1
	holds 'two users'              table -DSLOTS=2
	holds 'three slots, reused'    table -DCAP=1
	holds 'three slots, backwards'  table -DCAP=1 -DBACKWARDS
	holds 'three incarnations'     table -DSLOTS=2 -DGENS=3 -DCAP=1
	holds 'two users and sweepers' table -DSWEEPERS=2 -DSLOTS=2 -DCAP=1
	holds 'two users, other key'   table -DOTHERS=1 -DSLOTS=2 -DCAP=1
	holds 'two users, look over, longer' table -DSLOTS=2 -DLOOK_OVER
	holds 'all but one killed, three slots' table -DSOLO=40 -DLOOK_OVER -DGENS=1 -DCAP=1
	holds 'all but one killed, reused' table -DSOLO=60 -DSLOTS=2 -DLOOK_OVER
}

ring_torture() {
	holds 'granularity 2, longer'  ring -DT=8 -DREFUNDS
	holds 'granularity 3, longer'  ring -DN=3 -DT=8 -DREFUNDS
	holds 'three workers, longer'  ring -DWORKERS=3
	holds 'capacity 3'             ring -DN=3 -DT=6 -DCAP=3 -DREFUNDS
	holds 'estimate, longer'       ring -DT=5 -DREFUNDS -DESTIMATE
	holds 'estimate, granularity 3' ring -DN=3 -DT=5 -DREFUNDS -DESTIMATE
	holds 'retire, two workers'    ring -DRETIRERS=1 -DGENS=2 -DT=3
	holds 'retire, longer'         ring -DRETIRERS=1 -DGENS=2
	holds 'retire and refund'      ring -DRETIRERS=1 -DGENS=2 -DT=3 -DREFUNDS
	holds 'retire, granularity 3'  ring -DN=3 -DRETIRERS=1 -DGENS=2 -DT=4
	holds 'late refunds, longer'   ring -DT=7 -DREFUNDS -DLATE
	holds 'late refunds, granularity 3' ring -DN=3 -DT=6 -DLATE
	holds 'late refunds, estimate' ring -DT=5 -DREFUNDS -DLATE -DESTIMATE
	holds 'late refunds, three workers' ring -DWORKERS=3 -DT=3 -DLATE
	holds 'debts, longer'          ring -DT=4 -DDEBTS=3 -DREFUNDS -DLATE
	holds 'debts, granularity 3'   ring -DN=3 -DT=5 -DDEBTS=3 -DLATE
	holds 'debts, all but one killed' ring -DT=3 -DDEBTS=3 -DLATE -DSOLO=60
	holds 'all but one killed, longer' ring -DREFUNDS -DSOLO=40
	holds 'all but one killed, 3'  ring -DN=3 -DT=6 -DREFUNDS -DSOLO=60
	holds 'a share, two workers, longer' ring -DT=3 -DSHARES=2
	holds 'a share, retired, longer' ring -DWORKERS=1 -DT=2 -DRETIRERS=1 -DGENS=2 -DSHARES=1 -DBLIND=1
	holds 'a share, two workers, refunds' ring -DT=3 -DSHARES=1 -DREFUNDS
}

in_flight_check() {
	holds 'two workers'            in_flight
	holds 'capacity 2'             in_flight -DCAP=2
	holds 'a hold is handed on'    in_flight -DRELEASERS=1 -DCAP=2 -DOPS=1
	holds 'a seat is used again'   in_flight -DSEATS=1 -DRELEASERS=1 -DOPS=1
	holds 'a ring of one place'    in_flight -DR=1 -DCAP=2
	holds 'costs'                  in_flight -DCAP=3 -DCOST=2 -DOPS=1
	holds 'a sweeper'              in_flight -DSWEEPERS=1 -DOPS=1 -DSWEEPS=1
	holds 'retire'                 in_flight -DSWEEPERS=1 -DGENS=1 -DOPS=1 -DSWEEPS=1
	holds 'all but one killed'     in_flight -DSOLO=40 -DOPS=1
}

# Three workers and a sweeper, of whom one may sleep over a retirement.
readonly QUIET=(-DQUIET -DWORKERS=3 -DSEATS=3 -DCAP=2 -DOPS=1 -DKILLS=0)
readonly QUIETLY_RETIRED=("${QUIET[@]}" -DSWEEPERS=1 -DSWEEPS=1 -DGENS=1)

in_flight_mutants() {
	local mutant
	for mutant in NO_STORE IGNORE_NEWEST; do
		caught "$mutant" in_flight -DCAP=2 "-D$mutant"
	done
	for mutant in STORE_WITHOUT_RECHECK STORE_BLINDLY SEQ_WRAPS; do
		caught "$mutant" in_flight "${QUIET[@]}" "-D$mutant"
	done
	caught NO_SEQ in_flight -DRELEASERS=1 -DSWEEPERS=1 -DCAP=2 -DSWEEPS=1 -DNO_SEQ
	caught GIVE_BACK_ANY in_flight -DGIVE_BACK_ANY
	caught RELEASE_ANY_GEN in_flight -DSEATS=1 -DRELEASERS=1 -DOPS=1 -DRELEASE_ANY_GEN
	caught SEAT_KEEPS_GEN in_flight -DSEATS=1 -DRELEASERS=1 -DCAP=2 -DSEAT_KEEPS_GEN
	caught RETIRE_HELD in_flight -DSWEEPERS=1 -DGENS=1 -DOPS=1 -DRETIRE_HELD
	caught 'too few steps' in_flight -DSOLO=10 -DOPS=1
	# Who finds nothing to release may say so at once: a place that lost a label does not get it again.
	holds 'NOT_THERE_WITHOUT_RECHECK' in_flight -DSEATS=1 -DRELEASERS=1 -DOPS=1 \
		-DNOT_THERE_WITHOUT_RECHECK
}

in_flight_torture() {
	holds 'three workers, two seats' in_flight -DWORKERS=3 -DSEATS=2 -DOPS=1
	holds 'two workers, longer'    in_flight -DSWEEPERS=1
	holds 'a sweeper and a handed hold' in_flight -DSWEEPERS=1 -DRELEASERS=1 -DCAP=2 -DOPS=1
	holds 'three workers, two kills' in_flight -DWORKERS=3 -DKILLS=2 -DOPS=1
	holds 'three workers, capacity 2' in_flight -DWORKERS=3 -DCAP=2 -DOPS=1
	holds 'one seat, three workers' in_flight -DWORKERS=3 -DRELEASERS=1 -DSEATS=1
	holds 'one seat, a sweeper'    in_flight -DRELEASERS=1 -DSWEEPERS=1 -DSEATS=1 -DSWEEPS=1
	holds 'a full ring'            in_flight -DWORKERS=3 -DSEATS=3 -DCAP=3 -DOPS=1 -DKILLS=0
	holds 'costs, longer'          in_flight -DCAP=3 -DCOST=2
	holds 'costs, a sweeper'       in_flight -DCAP=3 -DCOST=2 -DSWEEPERS=1 -DOPS=1
	holds 'costs, a handed hold'   in_flight -DCAP=3 -DCOST=2 -DRELEASERS=1 -DOPS=1
	holds 'retire, longer'         in_flight -DSWEEPERS=1 -DGENS=1
	holds 'retire and hand on'     in_flight -DSWEEPERS=1 -DGENS=1 -DRELEASERS=1 -DOPS=1 -DSWEEPS=1 -DCAP=2
	holds 'three incarnations'     in_flight -DSWEEPERS=1 -DGENS=2 -DCAP=2 -DOPS=1 -DKILLS=0
	holds 'asleep over a retirement' in_flight "${QUIETLY_RETIRED[@]}"
	caught SEQ_RESTARTS in_flight "${QUIETLY_RETIRED[@]}" -DSEQ_RESTARTS
	holds 'asleep over another algorithm' in_flight "${QUIETLY_RETIRED[@]}" -DINTERLUDE
	caught 'SEQ_GOES_ON over another algorithm' in_flight "${QUIETLY_RETIRED[@]}" -DINTERLUDE -DSEQ_GOES_ON
	holds 'all but one killed, longer' in_flight -DSOLO=40
}

flood_check() {
	holds 'two users'              flood
	holds 'three users'            flood -DUSERS=3 -DCAP=2
	holds 'two epochs'             flood -DT=4
	holds 'two epochs, until'      flood -DT=4 -DUNTIL
	holds 'two epochs, capacity 2' flood -DCAP=2 -DFIRST=3 -DT=4
	holds 'a carry is helped'      flood -DUSERS=3 -DEVICTORS=0 -DCAP=2 -DFIRST=3 -DT=4
	holds 'two keys'               flood -DOTHERS=1
	holds 'two slots'              flood -DSLOTS=2
	holds 'a sleeper'              flood -DSLEEPERS=1
	holds 'a renewal'              flood -DRENEWERS=1
	holds 'an overflow counter that admits less' flood -DCAP=2 -DOVERFLOW_CAP=1 -DFIRST=3 -DT=4
	holds 'all but one killed'     flood -DSOLO=25
	holds 'a share'                flood -DCAP=2 -DOVERFLOW_CAP=1 -DSHARES=1
}

lanes_check() {
	holds 'two of a key, a stranger'  lanes -DZS=1
	holds 'a slot comes and goes'     lanes -DYS=1
	holds 'a slot is taken first'     lanes -DYS=1 -DTAKEN
	holds 'strangers of all lanes'    lanes -DXS=1 -DZS=2 -DWS=1
	holds 'three of a key'            lanes -DXS=3 -DCAP=2
	holds 'and a stranger'            lanes -DYS=1 -DZS=1
	holds 'capacity 2'                lanes -DYS=1 -DZS=1 -DCAP=2 -DTAKEN
	holds 'strangers alone'           lanes -DXS=0 -DZS=2 -DWS=2 -DCAP=2
}

lanes_torture() {
	lanes_check
	lanes_mutants
	holds 'two take the slot'         lanes -DYS=2
	holds 'four of a key'             lanes -DXS=4 -DYS=1 -DCAP=2
	holds 'two keys, a stranger'      lanes -DXS=3 -DYS=2 -DZS=1 -DCAP=2 -DTAKEN
	holds 'three keys'                lanes -DXS=2 -DYS=1 -DZS=2 -DWS=1 -DCAP=2
}

lanes_mutants() {
	caught ONE_LANE lanes -DXS=0 -DZS=2 -DONE_LANE
	caught FOLD_ONE lanes -DYS=1 -DFOLD_ONE
	caught TWO_WORDS lanes -DXS=1 -DZS=2 -DWS=1 -DTWO_WORDS
	caught NO_RECHECK lanes -DNO_RECHECK
	caught NO_FOLDS lanes -DYS=1 -DNO_FOLDS
	caught NO_CARRY lanes -DNO_CARRY
	caught NO_FOLD lanes -DYS=1 -DNO_FOLD
}

flood_mutants() {
	local mutant
	for mutant in NO_RECHECK NO_FOLDS FOLD_UNCOUNTED NO_FOLD NO_CARRY RETIRE_THEN_FOLD \
		CARRY_BEFORE_LIVE FOLD_WITHOUT_CUR; do
		caught "$mutant" flood "-D$mutant"
	done
	caught RETIRE_ANY_COUNT flood -DUSERS=3 -DCAP=2 -DRETIRE_ANY_COUNT
	caught CARRY_WITHOUT_PREV flood -DUSERS=3 -DEVICTORS=0 -DCAP=2 -DFIRST=3 -DT=4 -DCARRY_WITHOUT_PREV
	caught UNTIL_NOT_BY_FOLD flood -DSLOTS=2 -DUNTIL -DUNTIL_NOT_BY_FOLD
	caught RECHECK_LIVE_ALONE flood -DSLEEPERS=1 -DRECHECK_LIVE_ALONE
	caught 'too few steps' flood -DSOLO=10
	# A stranger that sleeps through as many folds as the overflow counter can count.
	caught 'folds modulo 2' flood -DEVICTORS=2 -DFOLDS=2
}

flood_torture() {
	holds 'two evictors, two epochs' flood -DEVICTORS=2 -DT=4
	holds 'two keys, three sub-buckets' flood -DOTHERS=1 -DT=3 -DCAP=2
	holds 'three users, renewal'   flood -DUSERS=3 -DRENEWERS=1
	holds 'two epochs, longer'     flood -DT=5 -DUNTIL
	holds 'three users, no evictor' flood -DUSERS=3 -DEVICTORS=0 -DCAP=2 -DT=5
	holds 'a carry is helped, all but one killed' flood -DUSERS=3 -DEVICTORS=0 -DCAP=2 -DFIRST=3 -DT=4 -DSOLO=25
	holds 'two slots, longer'      flood -DSLOTS=2 -DT=3 -DUNTIL
	holds 'two slots, two keys'    flood -DSLOTS=2 -DOTHERS=1
	holds 'all but one killed, two slots' flood -DSLOTS=2 -DSOLO=25
	holds 'a share, three users'   flood -DUSERS=3 -DCAP=2 -DOVERFLOW_CAP=1 -DSHARES=1
	caught 'a share, NO_CARRY' flood -DUSERS=3 -DCAP=2 -DOVERFLOW_CAP=1 -DSHARES=1 -DNO_CARRY
	# These take three users, and two epochs or a renewal.
	caught CARRY_AT_OWN_TIME flood -DUSERS=3 -DEVICTORS=0 -DCAP=2 -DT=5 -DCARRY_AT_OWN_TIME
	caught OLDER_ROW_WRITES flood -DUSERS=3 -DRENEWERS=1 -DOLDER_ROW_WRITES
	caught LEND_WITHOUT_CARRY flood -DUSERS=3 -DCAP=2 -DOVERFLOW_CAP=1 -DSHARES=1 -DLEND_WITHOUT_CARRY
	caught RECHECK_FOLDS_ALONE flood -DUSERS=3 -DRENEWERS=1 -DRECHECK_FOLDS_ALONE
}

move_torture() {
	holds 'two workers'            move
	holds 'a slot used before'     move -DREUSED
	holds 'no room'                move -DREUSED -DNO_ROOM
	holds 'two requests'           move -DREUSED -DOPS=2 -DCAP=2
	holds 'two workers and movers' move -DREUSED -DMOVERS=2
	holds 'two workers and a reset' move -DREUSED -DRESETS=1
	holds 'a reset and an eviction' move -DREUSED -DWORKERS=1 -DOPS=2 -DRESETS=1 -DEVICTIONS=1
	holds 'all but one killed'     move -DREUSED -DSOLO=45
}

[[ $# -le 1 ]] || usage
need spin
need gcc
need tcc
case ${1:-check} in
check)
	COMPILER=(gcc -O1) # these have millions of states
	table_check
	ring_check
	COMPILER=(tcc)
	move_check
	move_mutants
	table_mutants
	ring_mutants
	in_flight_check
	in_flight_mutants
	flood_check
	flood_mutants
	lanes_check
	lanes_mutants
	ring_share_mutants
	share_check
	share_mutants
	wish_check
	wish_mutants
	;;
torture)
	COMPILER=(gcc -O2)
	table_torture
	ring_torture
	ring_sums
	PACK=(-DCOLLAPSE) # in a third of the memory, and half as fast
	in_flight_torture
	flood_torture
	lanes_torture
	move_torture
	share_torture
	wish_torture
	;;
*) usage ;;
esac
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
