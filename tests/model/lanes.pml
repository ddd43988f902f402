/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes of an overflow counter (libshm/algorithm/overflow_word.h), in every order: three lanes and
 * three keys, of which each two share one. Key X may have the one slot, Y may take it from X, and the
 * strangers Z and W never have one. Each step is one access to one shared word. flood.pml has time and
 * all that becomes of a tag; here is one epoch.
 *
 *	key    lanes        XS, YS, ZS, WS   how many processes ask for it, once
 *	X      0 and 1      CAP              what each key is admitted at most
 *	Z      1 and 2      TAKEN            the slot is Y's at first
 *	W      0 and 2      GENS             a slot is given up only while its gen is below
 *
 *	charge   CAS of the whole counter: both lanes of the key become the lesser of them and 1, if they
 *	         have not more; of X, then, reads the tag, and the folds again
 *	fold     CAS of it: both lanes of X become what the slot has, if they have not more; folds + 1
 *	carry    a slot's first charge begins with the lesser of the two
 *
 * A process that is killed takes no further step, which is one of the orders.
 *
 * Broken: ONE_LANE a charge raises the lesser lane alone, FOLD_ONE a fold does, TWO_WORDS each lane has
 * a CAS of its own, NO_RECHECK, NO_FOLDS one of the last looks is left out, NO_CARRY, NO_FOLD.
 */

#ifndef XS
#define XS 2
#endif
#ifndef YS
#define YS 0
#endif
#ifndef ZS
#define ZS 0
#endif
#ifndef WS
#define WS 0
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef GENS
#define GENS 2
#endif

#define X 0
#define Z 1
#define W 2
#define Y 3

#define FREE 0
#define TENT 1
#define LIVE 2
#define TAG(status, key, gen) ((status) | (key) << 2 | (gen) << 4)
#define STATUS(t) ((t) & 3)
#define KEY(t) ((t) >> 2 & 3)
#define GEN(t) ((t) >> 4)
#define IS_LIVE(t, key) (((t) & 15) == TAG(LIVE, key, 0))

#define STATE(gen, count, dead) ((gen) | (count) << 3 | (dead) << 6)
#define STATE_GEN(s) ((s) & 7)
#define COUNT(s) ((s) >> 3 & 7)
#define DEAD(s) ((s) >> 6)

#define LANE(w, i) ((w) >> 3 * (i) & 7)
#define FOLDS(w) ((w) >> 9)
#define FIRST(key) ((key) == Z -> 1 : 0)
#define SECOND(key) ((key) == X -> 1 : 2)
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define COUNTED(w, key) MIN(LANE(w, FIRST(key)), LANE(w, SECOND(key)))
#define PUT(w, i, v) (((w) & ~(7 << 3 * (i))) | MAX(LANE(w, i), v) << 3 * (i))
#define BOTH(w, key, v) PUT(PUT(w, FIRST(key), v), SECOND(key), v)
#define LESSER(w, key, v) (LANE(w, FIRST(key)) <= LANE(w, SECOND(key)) -> PUT(w, FIRST(key), v) : PUT(w, SECOND(key), v))

#ifdef ONE_LANE
#define RAISED LESSER
#else
#define RAISED BOTH
#endif
#ifdef FOLD_ONE
#define FOLDED LESSER
#else
#define FOLDED BOTH
#endif

#ifdef TAKEN
byte tag = TAG(LIVE, Y, 0);
byte state = STATE(0, 1, 0);
#else
byte tag = TAG(FREE, X, 0);
byte state = STATE(7, 0, 0);
#endif
int overflow;

byte admitted[3]; /* not part of the protocol */

inline admit(key)
{
	admitted[key]++;
	assert(admitted[key] <= CAP)
}

#define AGAIN mine = 0; seen = 0; w = 0; n = 0; goto begin

proctype asks(byte key)
{
	byte mine, seen, n;
	int w;

begin:
	atomic {
		mine = tag;
		if
		:: key == X && IS_LIVE(mine, X) -> goto slot
		:: key != Y && !(key == X && IS_LIVE(mine, X)) -> mine = 0; goto charge
		:: key == X && STATUS(mine) == FREE -> goto claim
		:: key == X && STATUS(mine) == TENT -> goto make_live
		:: key == X && IS_LIVE(mine, Y) && GEN(mine) < GENS -> goto evict
		:: key == Y && STATUS(mine) == FREE -> goto claim
		:: key == Y && IS_LIVE(mine, X) && GEN(mine) < GENS -> goto evict
		:: key == Y && STATUS(mine) != FREE && !(IS_LIVE(mine, X) && GEN(mine) < GENS) -> goto over
		fi
	}

claim:
	atomic {
		if
		:: tag == mine && key == X -> tag = TAG(TENT, X, GEN(mine)); mine = tag
		:: tag == mine && key == Y -> tag = TAG(LIVE, Y, GEN(mine)); mine = tag; goto fill
		:: else -> AGAIN
		fi
	}
make_live:
	atomic {
		if
		:: tag == mine -> tag = TAG(LIVE, X, GEN(mine))
		:: else
		fi;
		AGAIN
	}
fill:
	atomic {
		if
		:: tag == mine && STATE_GEN(state) != GEN(mine) -> state = STATE(GEN(mine), 1, 0)
		:: else
		fi;
		goto over
	}

	/* X has the slot. */
slot:
	atomic {
		seen = state;
		if
		:: STATE_GEN(seen) == GEN(mine) && DEAD(seen) -> goto free
		:: STATE_GEN(seen) == GEN(mine) && !DEAD(seen) -> n = COUNT(seen); goto charge_slot
		:: else
		fi
	}
	atomic {
		if
		:: tag == mine
		:: else -> AGAIN
		fi
	}
	atomic {
#ifdef NO_CARRY
		n = 0
#else
		n = COUNTED(overflow, X)
#endif
	}
charge_slot:
	atomic {
		if
		:: n + 1 > CAP -> goto over
		:: n + 1 <= CAP && state == seen ->
			state = STATE(GEN(mine), n + 1, 0);
			admit(X);
			goto over
		:: else -> AGAIN
		fi
	}
free:
	atomic {
		if
		:: tag == mine -> tag = TAG(FREE, X, GEN(mine) + 1)
		:: else
		fi;
		AGAIN
	}

	/* Without one. */
charge:
	atomic {
		w = overflow;
		n = COUNTED(w, key) + 1;
		if
		:: n > CAP -> goto over
		:: else
		fi
	}
#ifdef TWO_WORDS
	atomic {
		if
		:: LANE(overflow, FIRST(key)) == LANE(w, FIRST(key)) || LANE(overflow, FIRST(key)) >= n ->
			overflow = PUT(overflow, FIRST(key), n)
		:: else -> AGAIN
		fi
	}
	atomic {
		if
		:: LANE(overflow, SECOND(key)) == LANE(w, SECOND(key)) || LANE(overflow, SECOND(key)) >= n ->
			overflow = PUT(overflow, SECOND(key), n)
		:: else -> AGAIN
		fi;
#else
	atomic {
		if
		:: overflow == w -> overflow = RAISED(w, key, n)
		:: else -> AGAIN
		fi;
#endif
		if
#ifdef NO_RECHECK
		:: true -> admit(key); goto over
#else
		:: key != X -> admit(key); goto over
		:: else
#endif
		fi
	}
	atomic {
		if
		:: IS_LIVE(tag, X) -> AGAIN
		:: else
		fi
	}
	atomic {
		if
#ifndef NO_FOLDS
		:: FOLDS(overflow) != FOLDS(w) -> AGAIN
#endif
		:: else -> admit(X); goto over
		fi
	}

	/* Take the slot from whoever has it. */
evict:
	atomic {
		seen = state;
		n = (STATE_GEN(seen) == GEN(mine) -> COUNT(seen) : 0);
		if
		:: STATE_GEN(seen) == GEN(mine) && DEAD(seen) -> goto free
#ifdef NO_FOLD
		:: else -> goto retire
#else
		:: !(STATE_GEN(seen) == GEN(mine) && DEAD(seen)) && KEY(mine) == X
		:: !(STATE_GEN(seen) == GEN(mine) && DEAD(seen)) && KEY(mine) == Y -> goto retire
#endif
		fi
	}
fold:
	atomic {
		w = overflow
	}
	atomic {
		if
		:: overflow == w -> overflow = FOLDED(w, X, n) + (1 << 9)
		:: else -> goto fold
		fi
	}
retire:
	atomic {
		if
		:: state == seen && tag == mine ->
			state = STATE(GEN(mine), 0, 1);
			goto free
		:: else -> AGAIN
		fi
	}
over:
	mine = 0; seen = 0; w = 0; n = 0
}

init {
	atomic {
		byte i;

		for (i : 1 .. XS) { run asks(X) }
		for (i : 1 .. YS) { run asks(Y) }
		for (i : 1 .. ZS) { run asks(Z) }
		for (i : 1 .. WS) { run asks(W) }
	}
}
