/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units in flight: one slot's state word and its ring, and the seats of who holds units
 * (libshm/holder/holder.h). Each step is one access to one shared word, in every order. The state has the
 * total and the newest tally, which may not be in the ring yet; whoever changes the tally of another place
 * stores it first.
 *
 *	state    gen:2 dead:1 total:2 used:2 place:2 | tally
 *	tally    seat:2 seat's gen:2 n:2 seq
 *	ring'[i] = i == place ? the state's tally : ring[i], for i < used
 *
 *	WORKERS    processes that take a seat, then acquire and release; they may end or hand a hold on
 *	           while they hold
 *	RELEASERS  processes that release a hold that was handed to them; they need no seat
 *	SWEEPERS   processes that give back for the dead, and retire the slot
 *	SEATS, R   how many seats, and places of the ring
 *	CAP, COST  capacity, and the most that one acquires at once
 *	OPS        how often a worker acquires
 *	SWEEPS     how often a sweeper does something
 *	KILLS      how many processes are killed, any of them at any moment, and are known to be dead
 *	QUIET      nobody ends while it holds, and nobody gives back for others: the rest of a search
 *	           that would be too large with them. It begins when the first two workers have acquired and
 *	           released once, the second one first and the second one's tally stored
 *	INTERLUDE  between two incarnations the slot counts by another algorithm, whose last state says
 *	           nothing of tallies
 *	GENS       the last incarnation; the first is 0. What happens to the tag is in table.pml
 *
 * Whether a process is alive is asked of an oracle that is right: what it rests on is in
 * libshm/holder/alive.h.
 *
 * After every step that writes:
 *	for each seat and gen, n of ring' is what was admitted less what was released and given back
 *	total is their sum, and at most CAP
 * and
 *	a release takes units of the process that they were admitted to, and of no other
 *	it does nothing only if its holder is dead
 *	nothing is given back for the living
 *	when all have ended or were killed, one sweep leaves total 0: no unit is lost
 *
 * SOLO: at any moment all processes but one may be killed at once, and that one must then complete
 * its request within SOLO steps of its own, whatever the dead have left.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RELEASERS
#define RELEASERS 0
#endif
#ifndef SWEEPERS
#define SWEEPERS 0
#endif
#ifndef SEATS
#define SEATS 2
#endif
#ifndef R
#define R 2
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef COST
#define COST 1
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef SWEEPS
#define SWEEPS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef GENS
#define GENS 0
#endif

#define PROCESSES (WORKERS + RELEASERS + SWEEPERS)
#define NOWHERE 7

#define GEN(s) ((s) & 3)
#define DEAD 4
#define TOTAL(s) ((s) >> 3 & 3)
#define USED(s) ((s) >> 5 & 3)
#define PLACE(s) ((s) >> 7 & 3)
#define NEWEST(s) ((s) >> 9)
#define STATE(gen, total, used, place, tally) \
	((gen) | (total) << 3 | (used) << 5 | (place) << 7 | (tally) << 9)

#define SEAT(t) ((t) & 3)
#define SEAT_GEN(t) ((t) >> 2 & 3)
#define LABEL(t) ((t) & 15)
#define COUNT(t) ((t) >> 4 & 3)
#define SEQ(t) ((t) >> 6)
#define TALLY(label, n, seq) ((label) | (n) << 4 | (seq) << 6)
#define TALLY_OF(s, i) ((i) == PLACE(s) -> NEWEST(s) : ring[i])

/* A word's seq is that of the word before it, and one more; each incarnation begins anew, elsewhere. */
#ifdef NO_SEQ
#define NEXT_SEQ(s) 0
#elif defined(SEQ_WRAPS)
#define NEXT_SEQ(s) ((SEQ(NEWEST(s)) + 1) & 1)
#else
#define NEXT_SEQ(s) (SEQ(NEWEST(s)) + 1)
#endif
#ifdef SEQ_RESTARTS
#define FIRST_SEQ(s, gen) 1
#elif defined(SEQ_GOES_ON)
#define FIRST_SEQ(s, gen) NEXT_SEQ(s)
#else
#define FIRST_SEQ(s, gen) ((gen) * 32 + 1)
#endif

int word;
short ring[R];
byte tag;               /* its gen; it is always LIVE */
byte seat_gen[SEATS];
byte seat_process[SEATS]; /* _pid, or 0: one CAS of 16 bytes changes both */
bool dead[PROCESSES + 2];

byte admitted[16];    /* the truth to compare with, by label */
byte admitted_to[16]; /* which process */

bool is_handed; /* a hold, to a releaser */
byte handed_label, handed_place, handed_gen, handed_cost, handed_by;

#ifdef SOLO
byte survivor; /* 0: nobody was singled out */
byte steps;
#define ALIVE provided (!dead[_pid] && (survivor == 0 || survivor == _pid))
#define STEP if :: survivor != 0 -> steps++; assert(steps <= SOLO) :: else fi
#define DONE if :: survivor != 0 -> goto end :: else fi
#else
#define ALIVE provided (!dead[_pid])
#define STEP skip
#define DONE skip
#endif

#define IS_SEAT_DEAD(seat) (seat_process[seat] == 0 || dead[seat_process[seat]])
#define IS_DEAD(label) (seat_gen[SEAT(label)] != SEAT_GEN(label) || IS_SEAT_DEAD(SEAT(label)))
#define IS_LIVE (GEN(word) == tag && !(word & DEAD))

hidden byte x, sum;
hidden short kept;

inline check()
{
	d_step {
		sum = 0;
		x = 0;
		do
		:: x < 16 -> sum = sum + admitted[x]; x++
		:: else -> break
		od;
		assert(sum <= CAP);
		if
		:: IS_LIVE ->
			assert(TOTAL(word) == sum);
			x = 0;
			do
			:: x < USED(word) ->
				kept = TALLY_OF(word, x);
				if
				:: COUNT(kept) > 0 ->
					assert(SEAT(kept) < SEATS);
					assert(admitted[LABEL(kept)] == COUNT(kept));
					sum = sum - COUNT(kept)
				:: else
				fi;
				x++
			:: else -> break
			od
		:: else
		fi;
		assert(sum == 0);
		x = 0;
		sum = 0;
		kept = 0
	}
}

#define NOTHING 0
#define ACQUIRE 1
#define RELEASE 2
#define GIVE_BACK 3 /* for the dead */
#define RETIRE 4

#define WORKER 1
#define RELEASER 2
#define SWEEPER 3

#define FORGET seen = 0; next = 0; i = 0; is_zero = 0; mine = NOWHERE; spare = NOWHERE; v = 0; old = 0; gen = 0
#define NO_HOLD cost = 0; label = 0; place = 0; hold_gen = 0; from = 0

/* A process that is killed between any two of these takes no further step. */
proctype actor(byte role) ALIVE
{
	int seen, next;
	short v, old;
	byte op, gen, i, mine = NOWHERE, spare = NOWHERE, own, ops;
	byte cost, label, place, hold_gen, from; /* what it holds, or was handed; from is a ghost */
	bool is_zero, has;

	if
	:: role == WORKER -> goto sit_down
	:: role == RELEASER -> goto take_over
	:: role == SWEEPER -> goto sweep
	fi;

sit_down: /* a free seat or a dead one's, by one CAS; while there is none nobody is admitted */
	atomic {
		STEP;
#ifdef QUIET
		own = _pid - 1;
#else
		if
		:: IS_SEAT_DEAD(0) -> own = 0
#if SEATS > 1
		:: !IS_SEAT_DEAD(0) && IS_SEAT_DEAD(1) -> own = 1
#endif
#if SEATS > 2
		:: !IS_SEAT_DEAD(0) && !IS_SEAT_DEAD(1) && IS_SEAT_DEAD(2) -> own = 2
#endif
		:: else -> goto end
		fi;
#endif
#ifndef SEAT_KEEPS_GEN
		seat_gen[own] = (seat_gen[own] + 1) & 3;
#endif
		seat_process[own] = _pid;
		own = own | seat_gen[own] << 2
	}

work:
	atomic {
		STEP;
		if
		:: has ->
			if
			:: op = RELEASE; goto begin
			:: RELEASERS > 0 && !is_handed ->
				is_handed = 1;
				handed_label = label; handed_place = place; handed_gen = hold_gen;
				handed_cost = cost; handed_by = _pid;
				has = 0;
				NO_HOLD;
				DONE;
				goto work
#ifndef QUIET
			:: ops == OPS -> goto end /* it ends, and holds */
#endif
			fi
		:: !has && ops < OPS ->
			ops++;
			op = ACQUIRE;
#if COST > 1
			if
			:: cost = 1
			:: cost = 2
			fi;
#else
			cost = 1;
#endif
			goto begin
		:: !has && ops == OPS -> goto end
		fi
	}

take_over:
	atomic {
		STEP;
		if
		:: is_handed ->
			label = handed_label; place = handed_place; hold_gen = handed_gen;
			cost = handed_cost; from = handed_by;
			handed_label = 0; handed_place = 0; handed_gen = 0; handed_cost = 0; handed_by = 0;
			is_handed = 0;
			op = RELEASE;
			goto begin
#ifdef SOLO
		:: survivor != 0 && !is_handed -> goto end
#endif
		fi
	}

sweep:
	atomic {
		STEP;
		if
		:: ops == SWEEPS -> goto end
#ifndef QUIET
		:: ops < SWEEPS -> ops++; op = GIVE_BACK
#endif
#if GENS > 0
		:: ops < SWEEPS -> ops++; op = RETIRE
#endif
		fi
	}

begin:
	atomic {
		STEP;
		gen = tag
	}
	atomic {
		STEP;
		seen = word;
		if
		:: GEN(seen) == gen && (seen & DEAD) -> goto finish
		:: GEN(seen) == gen && !(seen & DEAD) -> goto plan
		:: GEN(seen) != gen
		fi
	}
	atomic { /* of an earlier incarnation, if the tag is still this one: then it counts as zero */
		STEP;
		if
		:: tag != gen -> FORGET; goto begin
		:: else -> is_zero = 1
		fi
	}

plan:
	atomic {
		if
		:: op == ACQUIRE && is_zero ->
			next = STATE(gen, cost, 1, 0, TALLY(own, cost, FIRST_SEQ(seen, gen)));
			mine = 0;
			goto swap
		:: op == ACQUIRE && !is_zero && TOTAL(seen) + cost > CAP ->
			/* Denied, as it was when the state was read: or are there any dead? */
			if
#ifndef QUIET
			:: op = GIVE_BACK; goto plan
#endif
			:: FORGET; DONE; goto denied
			fi
		:: op == ACQUIRE && !is_zero && TOTAL(seen) + cost <= CAP -> goto find_place
#ifdef RELEASE_ANY_TAG
		:: op == RELEASE && !is_zero -> goto find_hold
		:: op == RELEASE && is_zero -> assert(IS_DEAD(label)); FORGET; DONE; goto released
#else
		:: op == RELEASE && !is_zero && gen == hold_gen -> goto find_hold
		:: op == RELEASE && (is_zero || gen != hold_gen) ->
			assert(IS_DEAD(label)); FORGET; DONE; goto released
#endif
		:: op == GIVE_BACK && (is_zero || USED(seen) == 0) -> FORGET; DONE; goto given_back
		:: op == GIVE_BACK && !is_zero && USED(seen) > 0 -> goto find_dead
#ifdef RETIRE_HELD
		:: op == RETIRE && !is_zero && gen < GENS -> goto retire
		:: op == RETIRE && (is_zero || gen >= GENS) -> FORGET; goto given_back
#else
		:: op == RETIRE && !is_zero && TOTAL(seen) == 0 && gen < GENS -> goto retire
		:: op == RETIRE && (is_zero || TOTAL(seen) != 0 || gen >= GENS) -> FORGET; goto given_back
#endif
		fi
	}

find_place: /* its own; else the first that holds nothing; else one more; else the ring is full */
	atomic {
		STEP;
		if
		:: i < USED(seen) ->
#ifdef IGNORE_NEWEST
			v = ring[i];
#else
			v = TALLY_OF(seen, i);
#endif
			if
			:: LABEL(v) == own ->
				mine = i;
				next = STATE(gen, TOTAL(seen) + cost, USED(seen), mine,
				             TALLY(own, (COUNT(v) + cost) & 3, NEXT_SEQ(seen)));
				i = 0; v = 0; spare = NOWHERE;
				goto store
			:: LABEL(v) != own && COUNT(v) == 0 && spare == NOWHERE -> spare = i
			:: else
			fi;
			i++;
			v = 0;
			goto find_place
		:: i == USED(seen) && (spare != NOWHERE || i < R) ->
			mine = (spare != NOWHERE -> spare : i);
			next = STATE(gen, TOTAL(seen) + cost, (spare != NOWHERE -> USED(seen) : i + 1), mine,
			             TALLY(own, cost, NEXT_SEQ(seen)));
			i = 0; spare = NOWHERE;
			goto store
		:: i == USED(seen) && spare == NOWHERE && i == R ->
			i = 0;
			if
			:: op = GIVE_BACK; goto plan
			:: FORGET; DONE; goto denied
			fi
		fi
	}

find_hold: /* a place keeps its label while n > 0 */
	atomic {
		STEP;
		v = TALLY_OF(seen, place);
		mine = place;
#ifdef RELEASE_ANY_GEN
		if
		:: place < USED(seen) && SEAT(v) == SEAT(label) && COUNT(v) >= cost ->
#else
		if
		:: place < USED(seen) && LABEL(v) == label && COUNT(v) >= cost ->
#endif
			next = STATE(gen, TOTAL(seen) - cost, USED(seen), place,
			             TALLY(LABEL(v), COUNT(v) - cost, NEXT_SEQ(seen)));
			v = 0;
			goto store
		:: else -> v = 0
		fi
	}
	atomic { /* not there, if the state still stands */
		STEP;
#ifndef NOT_THERE_WITHOUT_RECHECK
		if
		:: word != seen -> FORGET; goto begin
		:: else
		fi;
#endif
		assert(IS_DEAD(label));
		FORGET;
		DONE;
		goto released
	}

find_dead:
	atomic {
		STEP;
		if
		:: i < USED(seen) ->
			v = TALLY_OF(seen, i);
			if
			:: COUNT(v) == 0 -> i++; v = 0; goto find_dead
			:: else
			fi
		:: i == USED(seen) -> FORGET; DONE; goto given_back
		fi
	}
	atomic { /* the oracle: from here on it is dead, whatever the word has become */
		STEP;
		if
#ifndef GIVE_BACK_ANY
		:: !IS_DEAD(v) -> i++; v = 0; goto find_dead
#endif
		:: else ->
			mine = i;
			next = STATE(gen, TOTAL(seen) - COUNT(v), USED(seen), mine,
			             TALLY(LABEL(v), 0, NEXT_SEQ(seen)));
			v = 0; i = 0;
			goto store
		fi
	}

store: /* the state's tally, before that of another place takes its room */
	atomic {
#ifdef NO_STORE
		goto swap;
#endif
		if
		:: PLACE(seen) == mine -> goto swap
		:: else
		fi;
		STEP;
		old = ring[PLACE(seen)]
#ifndef STORE_WITHOUT_RECHECK
	}
	atomic {
		STEP;
		if
		:: word != seen -> FORGET; goto again
		:: else
		fi
#endif
		;
		if
		:: old == NEWEST(seen) -> old = 0; goto swap
		:: else
		fi
	}
	atomic {
		STEP;
#ifdef STORE_BLINDLY
		ring[PLACE(seen)] = NEWEST(seen);
		check();
		old = 0;
		goto swap
#else
		if
		:: ring[PLACE(seen)] == old -> ring[PLACE(seen)] = NEWEST(seen); check(); old = 0; goto swap
		:: else -> old = 0; goto store
		fi
#endif
	}

swap:
	atomic {
		STEP;
		if
		:: word != seen -> FORGET; goto again
		:: else
		fi;
		assert(tag == gen);
		v = NEWEST(next);
		if
		:: op == ACQUIRE ->
			if
			:: admitted[own] == 0 -> admitted_to[own] = _pid
			:: else
			fi;
			admitted[own] = admitted[own] + cost;
			has = 1; label = own; place = mine; hold_gen = gen
		:: op == RELEASE ->
			assert(LABEL(v) == label && admitted[label] >= cost);
			assert(admitted_to[label] == (role == WORKER -> _pid : from));
			admitted[label] = admitted[label] - cost
		:: op == GIVE_BACK ->
			assert(IS_DEAD(v));
			admitted[LABEL(v)] = 0
		fi;
		word = next;
		check();
		FORGET;
		if
		:: op == GIVE_BACK -> goto again
		:: op == ACQUIRE -> op = NOTHING; DONE; goto work
		:: op == RELEASE -> DONE; goto released
		fi
	}

again: /* a denied request that gave back for the dead is a request again */
	atomic {
		if
		:: role == WORKER && op == GIVE_BACK -> op = ACQUIRE
		:: else
		fi;
		goto begin
	}

retire:
	atomic {
		STEP;
		if
		:: word == seen -> word = word | DEAD; check()
		:: else
		fi;
		FORGET;
		goto given_back
	}

finish: /* of a DEAD state anybody moves the tag on */
	atomic {
		STEP;
		if
		:: tag == gen ->
			tag++;
#ifdef INTERLUDE
			word = word & 511;
#endif
			check()
		:: else
		fi;
		FORGET;
		if
		:: op == RETIRE -> goto given_back
		:: else -> goto again
		fi
	}

denied:
	atomic {
		op = NOTHING;
		NO_HOLD;
		goto work
	}

released:
	atomic {
		op = NOTHING;
		has = 0;
		NO_HOLD;
		if
		:: role == WORKER -> goto work
		:: role == RELEASER -> goto end
		fi
	}

given_back: /* as far as there was anything */
	atomic {
		if
		:: role == WORKER -> goto denied
		:: role == SWEEPER -> op = NOTHING; goto sweep
		fi
	}

end:
	atomic {
		dead[_pid] = 1;
		op = NOTHING;
		own = 0;
		NO_HOLD
	}
}

/* At any moment, any of them. */
proctype killer()
{
	byte killed, who = 1;

	do
	:: killed < KILLS ->
		atomic {
			do
			:: who < PROCESSES -> who++
			:: break
			od;
			dead[who] = 1;
			killed++;
			who = 1
		}
	:: break
	od
}

/* When nobody can take a step any more: one sweep by the same rules. */
proctype auditor()
{
	timeout ->
#ifdef SOLO
	goto over;
#endif
	d_step {
		x = 0;
		do
		:: IS_LIVE && x < USED(word) ->
			kept = TALLY_OF(word, x);
			if
			:: COUNT(kept) > 0 && IS_DEAD(kept) ->
				admitted[LABEL(kept)] = 0;
				ring[PLACE(word)] = NEWEST(word);
				word = STATE(tag, TOTAL(word) - COUNT(kept), USED(word), x,
				             TALLY(LABEL(kept), 0, NEXT_SEQ(word)))
			:: else
			fi;
			x++
		:: else -> break
		od;
		x = 0;
		kept = 0;
		assert(!IS_LIVE || TOTAL(word) == 0 || is_handed)
	}
	check();
over:	skip
}

init
{
	byte n;

	atomic {
#ifdef QUIET
		ring[0] = TALLY(0 | 1 << 2, 1, 1);
		ring[1] = TALLY(1 | 1 << 2, 0, 3);
		word = STATE(0, 0, 2, 0, TALLY(0 | 1 << 2, 0, 4));
#endif
		do
		:: n < WORKERS -> run actor(WORKER); n++
		:: n >= WORKERS && n < WORKERS + RELEASERS -> run actor(RELEASER); n++
		:: n >= WORKERS + RELEASERS && n < PROCESSES -> run actor(SWEEPER); n++
		:: else -> break
		od;
		run killer();
		run auditor()
	}
#ifdef SOLO
	atomic {
		n = 1;
		do
		:: n < PROCESSES -> n++
		:: break
		od;
		survivor = n
	}
#endif
}
