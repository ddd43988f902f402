/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of libshm/table/table.c: claim, resolve, charge, retire, free, each step one access to
 * one shared word, in every order that sequential consistency allows. (What makes the real
 * machine keep that order is argued at the fences of table.c; it is not modelled here.)
 *
 *	USERS     processes that look for key 0, claim it if it is not there, and charge it
 *	OTHERS    the same for key 1, in the same slots
 *	SWEEPERS  processes that retire any LIVE slot, free any TENT, settle any LEAVING, at any
 *	          time: no clock restrains them
 *	SLOTS     where both keys may live; a line is not modelled, a user may choose any slot
 *	          that its look over them found free
 *	GENS      a slot is claimed only while its gen is below: gens never wrap here, because
 *	          a gen of two or three bits does fool a process that sleeps (mutant GEN_WRAPS):
 *	          what LEAVING is for is played by race/test_stops, with gens as they are
 *	CAP       a key is charged up to this often per incarnation
 *	BACKWARDS slots are looked over from the highest to the lowest
 *	LOOK_OVER a user claims only after a look over all slots, as table.c does; without it
 *	          any free slot at any time, which contains that and has fewer states
 *
 * SIGKILL. A process that is killed is one that takes no further step, and every order of
 * steps contains those in which it does not. What holds in every state therefore holds with
 * any number of kills between any two steps. SOLO adds the other half, that nobody waits: at
 * any moment all processes but one may be killed at once, and that one must then complete
 * its request within SOLO steps of its own, whatever the dead have left.
 *
 * What is checked after every step that writes:
 *	at most one LIVE tag per key, a LEAVING one being counted as such
 *	the count that the LIVE slot shows, zero if the state has another gen, is the number of
 *	charges made since the key was last retired: none lost, none inherited, none doubled
 * and at each charge and each retirement: the slot is LIVE(key, gen) at that moment, and what
 * is forgotten is what the sweeper judged.
 *
 * With LOOK_OVER, a LIVE or TENT tag ends the look, where table.c goes on to the last slot:
 * a process that goes on and then uses what it saw is one that slept here.
 */

#ifndef USERS
#define USERS 2
#endif
#ifndef OTHERS
#define OTHERS 0
#endif
#ifndef SWEEPERS
#define SWEEPERS 1
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef GENS
#define GENS 2
#endif
#ifndef CAP
#define CAP 2
#endif

#define KEYS 2
#define NOBODY 255 /* also: no slot chosen */

/* Tag: gen | key | status. State: count | dead | gen. Zero is FREE(0), and a count of 0. */
#define FREE 0
#define TENT 1
#define LIVE 2
#define LEAVING 3 /* with all of the LIVE tag that it comes from */
#define TAG(status, key, gen) ((status) | (key) << 2 | (gen) << 3)
#define STATUS(tag) ((tag) & 3)
#define KEY(tag) ((tag) >> 2 & 1)
#define GEN(tag) ((tag) >> 3)
#define IS(tag, status, key) (((tag) & 7) == TAG(status, key, 0))

#define STATE(gen, dead, count) ((gen) | (dead) << 3 | (count) << 4)
#define STATE_GEN(state) ((state) & 7)
#define DEAD 8
#define COUNT(state) ((state) >> 4)

#ifdef NO_GEN
#define FREED(tag) TAG(FREE, 0, GEN(tag))
#else
#ifdef GEN_WRAPS
#define FREED(tag) TAG(FREE, 0, (GEN(tag) + 1) & 1)
#else
#define FREED(tag) TAG(FREE, 0, GEN(tag) + 1)
#endif
#endif

#ifdef BACKWARDS
#define SLOT(i) (SLOTS - 1 - (i))
#else
#define SLOT(i) (i)
#endif

byte tags[SLOTS];
byte states[SLOTS];
byte charged[KEYS]; /* since the key was last retired; not part of the protocol */

#ifdef SOLO
byte survivor = NOBODY;
byte steps;
#define ALIVE provided (survivor == NOBODY || survivor == _pid)
#define STEP if :: survivor != NOBODY -> steps++; assert(steps <= SOLO) :: else fi
#define DONE if :: survivor != NOBODY -> goto end :: else fi
#else
#define ALIVE
#define STEP skip
#define DONE skip
#endif

/* Back to the start, knowing nothing: what is no longer used must not tell states apart. */
#define AGAIN(start) \
	i = 0; at = 0; mine = NOBODY; tag = 0; seen = 0; goto start

hidden byte p, q, lives, shown;

inline check()
{
	d_step {
		q = 0;
		do
		:: q < KEYS ->
			lives = 0;
			shown = 0;
			p = 0;
			do
			:: p < SLOTS ->
				if
				:: IS(tags[p], LIVE, q) || IS(tags[p], LEAVING, q) ->
					lives++;
					if
					:: STATE_GEN(states[p]) == GEN(tags[p]) && !(states[p] & DEAD) ->
						shown = COUNT(states[p])
					:: else
					fi
				:: else
				fi;
				p++
			:: else -> break
			od;
			assert(lives <= 1);
			assert(shown == charged[q]);
			q++
		:: else -> break
		od
	}
}

/* CAS the tag from exactly `old` to free. */
inline free_tag(slot, old)
{
	if
	:: tags[slot] == old ->
		tags[slot] = FREED(old);
		check()
	:: else
	fi
}

/* The first step of freeing a LIVE slot: whoever finds it LEAVING looks at its state again. */
inline leave(slot, old)
{
	if
	:: tags[slot] == old ->
		tags[slot] = TAG(LEAVING, KEY(old), GEN(old));
		old = tags[slot];
		check()
	:: else -> old = NOBODY
	fi
}

/* The second, `state` having been read since. */
inline settle(slot, old, state)
{
	if
	:: tags[slot] == old ->
		if
		:: (state & DEAD) && STATE_GEN(state) == GEN(old) -> tags[slot] = FREED(old)
		:: else -> tags[slot] = TAG(LIVE, KEY(old), GEN(old))
		fi;
		check()
	:: else
	fi
}

proctype user(byte key) ALIVE
{
	byte i, at, tag, seen;
	byte mine = NOBODY;

look:
	atomic {
		STEP;
#ifdef LOOK_OVER
		if
		:: i == SLOTS && mine == NOBODY -> /* all taken */
			DONE;
			AGAIN(look)
		:: i == SLOTS && mine != NOBODY ->
			i = 0;
			goto claim
		:: else
		fi;
#else
		do
		:: i + 1 < SLOTS -> i++
		:: break
		od;
#endif
		tag = tags[SLOT(i)];
		if
		:: IS(tag, LIVE, key) ->
			at = SLOT(i); mine = tag; i = 0; tag = 0;
			goto charge
#ifdef WAIT_FOR_CLAIMER
		:: IS(tag, TENT, key) -> AGAIN(look)
#else
		:: IS(tag, TENT, key) ->
			at = SLOT(i); mine = tag; i = 0; tag = 0;
			goto resolve
#endif
		:: STATUS(tag) == LEAVING ->
			at = SLOT(i); mine = tag; i = 0; tag = 0;
			goto look_at_state
		:: STATUS(tag) == FREE && GEN(tag) < GENS ->
			if
			:: at = SLOT(i); mine = tag
			:: mine != NOBODY
			fi
		:: else
		fi;
		tag = 0;
#ifdef LOOK_OVER
		i++;
		goto look
#else
		i = 0;
		if
		:: mine == NOBODY -> AGAIN(look)
		:: else
		fi
#endif
	}

claim:
	atomic {
		STEP;
#ifdef STRAIGHT_TO_LIVE
		goto make_live;
#endif
		if
		:: tags[at] == mine ->
			mine = TAG(TENT, key, GEN(mine));
			tags[at] = mine;
			check()
		:: else -> AGAIN(look)
		fi
	}

	/* `mine` is the TENT tag at `at`, this process's own or one that it helps on. */
resolve:
	atomic {
		STEP;
		if
#ifdef HELP_WITHOUT_LOOK
		:: true -> goto make_live
#endif
		:: i == SLOTS -> i = 0; goto make_live
		:: else
		fi;
		tag = tags[SLOT(i)];
		if
		:: SLOT(i) == at -> i++
#ifndef IGNORE_LIVE
		:: SLOT(i) != at && IS(tag, LIVE, key) -> goto give_way
#endif
#ifndef IGNORE_LEAVING
		:: SLOT(i) != at && IS(tag, LEAVING, key) -> goto look_at_other
#endif
#ifndef NO_TIE_BREAK
#ifndef IGNORE_LOWER
		:: SLOT(i) < at && IS(tag, TENT, key) -> goto give_way
#endif
#ifndef IGNORE_HIGHER
		:: SLOT(i) > at && IS(tag, TENT, key) -> goto free_higher
#endif
#endif
		:: else -> i++
		fi;
		tag = 0
	}
	goto resolve;

free_higher:
	atomic {
		STEP;
		free_tag(SLOT(i), tag);
#ifdef NO_RESCAN
		i++;
#endif
		tag = 0;
		goto resolve
	}

look_at_other:
	atomic {
		STEP;
		seen = states[SLOT(i)]
	}
	atomic {
		STEP;
		settle(SLOT(i), tag, seen);
		tag = 0; seen = 0;
		goto resolve
	}

give_way:
	atomic {
		STEP;
		free_tag(at, mine);
		at = SLOT(i);
		mine = tag;
		tag = 0;
#ifdef CONTINUE_AT_LOWER
		if
		:: STATUS(mine) == TENT -> goto resolve
		:: else
		fi;
#endif
		i = 0;
		if
		:: STATUS(mine) == LIVE -> goto charge
		:: else -> goto resolve
		fi
	}

make_live:
	atomic {
		STEP;
		if
		:: tags[at] == mine ->
			mine = TAG(LIVE, key, GEN(mine));
			tags[at] = mine;
			check();
			goto charge
		:: else -> AGAIN(look)
		fi
	}

	/* `mine` is the LIVE tag as it was at `at` when seen or made. */
charge:
	atomic {
		STEP;
		seen = states[at];
		if
		:: STATE_GEN(seen) != GEN(mine) -> goto look_again
#ifndef CHARGE_THE_DEAD
		:: STATE_GEN(seen) == GEN(mine) && (seen & DEAD) -> goto finish
#endif
		:: else ->
			/* What it will be judged by is true now. */
			assert(tags[at] == mine && COUNT(seen) == charged[key]);
			goto decide
		fi
	}
look_again:
	atomic {
		STEP;
		if
#ifndef NO_SECOND_LOOK
		:: tags[at] != mine -> AGAIN(look)
#endif
		:: else
		fi
	}
decide:
	atomic {
		STEP;
		if
#ifdef GEN_IGNORED
		:: COUNT(seen) == CAP ->
#else
		:: STATE_GEN(seen) == GEN(mine) && COUNT(seen) == CAP ->
#endif
			DONE;
			AGAIN(look)
		:: else
		fi;
		if
		:: states[at] == seen ->
			assert(tags[at] == mine);
			if
#ifdef GEN_IGNORED
			:: true ->
#else
			:: STATE_GEN(seen) == GEN(mine) ->
#endif
				states[at] = STATE(GEN(mine), 0, COUNT(seen) + 1)
			:: else ->
				states[at] = STATE(GEN(mine), 0, 1)
			fi;
			charged[key]++;
			check();
			DONE
		:: else
		fi;
		AGAIN(look)
	}
finish:
	atomic {
		STEP;
		leave(at, mine);
		if
		:: mine == NOBODY -> AGAIN(look)
		:: else -> seen = 0
		fi
	}
look_at_state:
	atomic {
		STEP;
		seen = states[at]
	}
	atomic {
		STEP;
		settle(at, mine, seen);
		AGAIN(look)
	}
end:
	skip
}

proctype sweeper() ALIVE
{
	byte i, at, tag, seen;
	byte mine = NOBODY;

pick:
	atomic {
		STEP;
		do
		:: at + 1 < SLOTS -> at++
		:: break
		od;
		mine = tags[at];
		if
		:: STATUS(mine) == TENT -> goto give_way
		:: STATUS(mine) == LEAVING -> goto look_at_state
		:: STATUS(mine) == LIVE
		:: else ->
			DONE;
			AGAIN(pick)
		fi
	}
	atomic {
		STEP;
		seen = states[at];
		if
		:: STATE_GEN(seen) != GEN(mine) -> goto look_again
		:: STATE_GEN(seen) == GEN(mine) && (seen & DEAD) -> goto finish
		:: else -> goto kill
		fi
	}
look_again:
	atomic {
		STEP;
		if
#ifndef RETIRE_WITHOUT_SECOND_LOOK
		:: tags[at] != mine ->
			DONE;
			AGAIN(pick)
#endif
		:: else
		fi
	}
kill:
	atomic {
		STEP;
		if
#ifdef RETIRE_ANY_COUNT
		:: STATE_GEN(states[at]) == STATE_GEN(seen) && (states[at] & DEAD) == (seen & DEAD) ->
#else
		:: states[at] == seen ->
#endif
#ifdef RETIRE_WITHOUT_DEAD
			if
			:: tags[at] == mine -> charged[KEY(mine)] = 0
			:: else
			fi
#else
			/* Nothing is forgotten but what was judged. */
			assert(tags[at] == mine);
			assert(charged[KEY(mine)] == (STATE_GEN(seen) == GEN(mine) -> COUNT(seen) : 0));
#ifdef DEAD_KEEPS_GEN
			states[at] = seen | DEAD;
#else
			states[at] = STATE(GEN(mine), 1, COUNT(states[at]));
#endif
			charged[KEY(mine)] = 0;
			check()
#endif
		:: else ->
			DONE;
			AGAIN(pick)
		fi;
#ifdef RETIRE_WITHOUT_DEAD
		if
		:: tags[at] == mine -> tags[at] = FREED(mine)
		:: else
		fi;
		check();
		AGAIN(pick)
#endif
	}
finish:
	atomic {
		STEP;
		leave(at, mine);
		if
		:: mine == NOBODY ->
			DONE;
			AGAIN(pick)
		:: else -> seen = 0
		fi
	}
look_at_state:
	atomic {
		STEP;
		seen = states[at]
	}
	atomic {
		STEP;
		settle(at, mine, seen);
		DONE;
		AGAIN(pick)
	}
give_way:
	atomic {
		STEP;
		free_tag(at, mine);
		DONE;
		AGAIN(pick)
	}
end:
	skip
}

init {
	byte n;

	atomic {
		do
		:: n < USERS -> run user(0); n++
		:: n >= USERS && n < USERS + OTHERS -> run user(1); n++
		:: n >= USERS + OTHERS && n < USERS + OTHERS + SWEEPERS -> run sweeper(); n++
		:: else -> break
		od
	}
#ifdef SOLO
	/* At any moment: everybody but one is killed. */
	atomic {
		do
		:: n > 1 -> n--
		:: break
		od;
		survivor = n
	}
#endif
}
