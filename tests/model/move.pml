/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a key moves from a table O to the table N that takes its place: libshm/move/move.c, each step one access to one
 * shared word, in every order that sequential consistency allows.
 *
 *	WORKERS   processes that charge the key OPS times each; all begin in O, and may sleep there
 *	MOVERS    processes that move the key if it is in O, settle, and give O's memory back
 *	RESETS    processes that reset the key once: move it, and then retire it where it is
 *	EVICTIONS processes that retire the key in N once, at any time, without a look at O
 *	CAP       the capacity: nothing leaves the window here
 *	REUSED    the slot in O was another key's before; else it was never used
 *	NO_ROOM   N may have no room for the key, whenever it is asked
 *
 * One slot in each table: that a key has at most one is table.pml's. A slot is claimed in N by one step, in O by two, for
 * what is looked at between these is part of this protocol.
 *
 * SIGKILL: as in table.pml, a process that is killed takes no further step; with SOLO, all but one are killed at any moment,
 * and that one completes what it does within SOLO steps.
 *
 * What is checked after every step that writes: what is seen of the key, its count in N or, while that is zero, in O, is not
 * less than what was admitted since it was last forgotten, nor is that more than CAP; and without EVICTIONS it is that.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef MOVERS
#define MOVERS 1
#endif
#ifndef RESETS
#define RESETS 0
#endif
#ifndef EVICTIONS
#define EVICTIONS 0
#endif
#ifndef CAP
#define CAP 1
#endif

#define O 0
#define N 1
#define NOBODY 255

/* A tag: gen and status. All zeros: FREE, of gen 0. */
#define FREE 0
#define TENT 1
#define LIVE 2
#define MOVED 3
#define TAG(status, gen) ((status) | (gen) << 2)
#define STATUS(tag) ((tag) & 3)
#define GEN(tag) ((tag) >> 2)
#define FREED(tag) TAG(FREE, GEN(tag) + 1)

/* A state: gen of the incarnation it counts for, plus 1; 0 is a word that was never used, all zeros. */
#define OPEN 0
#define DEAD 1
#define SEALED 2
#define WORD(gen, mark, count) (((gen) + 1) | (mark) << 4 | (count) << 6)
#define UNUSED 0
#define OLDER(nonce) (15 | (nonce) << 6) /* what a slot that is used for the first time gets */
#define MARK(word) ((word) >> 4 & 3)
#define COUNT(word) ((word) >> 6)
#define IS_ZERO(word, tag) (((word) & 15) != GEN(tag) + 1)
#define HAS(word, tag) (IS_ZERO(word, tag) || MARK(word) == DEAD -> 0 : COUNT(word))

byte now; /* 0: O; 1: N, and keys are moving; 2: N, settled */
byte tags[2];
short states[2];
byte nonces; /* no two are the same */
byte admitted, forgotten; /* not part of the protocol */

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

hidden byte seen_n, seen_o, seen;

inline check()
{
	d_step {
		seen_n = (STATUS(tags[N]) == LIVE -> HAS(states[N], tags[N]) : 0);
		seen_o = (STATUS(tags[O]) == LIVE -> HAS(states[O], tags[O]) : 0);
		seen = (seen_n > 0 -> seen_n : seen_o);
		assert(admitted - forgotten <= CAP);
		assert(seen >= admitted - forgotten);
#if EVICTIONS == 0
		assert(seen == admitted - forgotten);
#endif
		seen_n = 0; seen_o = 0; seen = 0
	}
}

/* A compare-and-swap; `then` is done with it if it succeeds. */
#define CAS(word, old, new, then) \
	atomic { STEP; if :: word == (old) -> word = (new); then; is_done = 1; check() \
	               :: else -> is_done = 0 fi }

#define FORGET d_step { tag = 0; word = 0; old = 0; oldword = 0; is_done = 0; next = 0 }

#ifdef TENT_STAYS
#define FREE_TENT(again) skip
#else
#define FREE_TENT(again) CAS(tags[O], old, FREED(old), skip); FORGET; goto again
#endif
#ifdef NO_ROOM
#define ROOM(stays) \
	if \
	:: skip \
	:: atomic { STEP; word = states[O] } \
		if \
		:: MARK(word) != SEALED -> goto stays \
		:: else -> skip \
		fi \
	fi
#else
#define ROOM(stays) skip
#endif
#ifdef NO_SEAL
#define SEAL(again) skip
#else
#define SEAL(again) \
	next = WORD(GEN(old), SEALED, (IS_ZERO(oldword, old) -> 0 : COUNT(oldword))); \
	CAS(states[O], oldword, next, skip); FORGET; goto again
#endif
#define MARK_MOVED CAS(tags[O], old, TAG(MOVED, GEN(old)), skip)
#ifdef MARK_FIRST
#define MARK_EARLY MARK_MOVED
#else
#define MARK_EARLY skip
#endif
#ifdef CARRY_OVER
#define MAY_CARRY true
#else
#define MAY_CARRY (IS_ZERO(word, tag) && COUNT(oldword) > 0 && !IS_ZERO(oldword, old))
#endif
#ifdef NO_SECOND_LOOK
#define LOOK_AGAIN(again) skip
#else
#define LOOK_AGAIN(again) \
	atomic { STEP; next = tags[O] } \
	if \
	:: next != old -> FORGET; goto again \
	:: else -> skip \
	fi
#endif
/* A state that seems zero is a newer incarnation's if the tag is another by now. */
#ifdef NO_TAG_AGAIN
#define IS_GONE(at) false
#else
#define IS_GONE(at) (tags[at] != tag)
#endif
#ifdef CHARGE_ZEROS
#define IS_UNUSED(word) false
#else
#define IS_UNUSED(word) ((word) == UNUSED)
#endif

/*
 * What whoever is in N does before he charges a key that has no count there, and movers and resets do: `again` if
 * something was changed, `stays` if the key is to be asked for in O; else on: nothing is in O, and never will be.
 */
#define MOVE_KEY(again, stays) \
	atomic { STEP; old = tags[O] } \
	if \
	:: STATUS(old) == TENT -> FREE_TENT(again) \
	:: STATUS(old) == LIVE -> \
		ROOM(stays); \
		atomic { STEP; tag = tags[N] } \
		if \
		:: STATUS(tag) != LIVE -> CAS(tags[N], tag, TAG(LIVE, GEN(tag)), skip); FORGET; goto again \
		:: else -> skip \
		fi; \
		atomic { STEP; oldword = states[O] } \
		if \
		:: MARK(oldword) == DEAD && !IS_ZERO(oldword, old) -> \
			CAS(tags[O], old, FREED(old), skip); FORGET; goto again \
		:: MARK(oldword) != SEALED -> SEAL(again) \
		:: else -> skip \
		fi; \
		MARK_EARLY; \
		atomic { STEP; word = states[N] } \
		if \
		:: MARK(word) == DEAD && !IS_ZERO(word, tag) -> \
			CAS(tags[N], tag, FREED(tag), skip); FORGET; goto again \
		:: IS_ZERO(word, tag) && IS_GONE(N) -> FORGET; goto again \
		:: else -> skip \
		fi; \
		if \
		:: MAY_CARRY -> \
			LOOK_AGAIN(again); \
			next = WORD(GEN(tag), OPEN, (IS_ZERO(oldword, old) -> 0 : COUNT(oldword))); \
			CAS(states[N], word, next, skip) \
			if \
			:: !is_done -> FORGET; goto again \
			:: else -> skip \
			fi \
		:: else -> skip \
		fi; \
		MARK_MOVED; FORGET; goto again \
	:: else -> FORGET \
	fi

#ifdef SAME_NONCE
#define USE(at) CAS(states[at], word, OLDER(0), skip)
#else
#define USE(at) CAS(states[at], word, OLDER(nonces), nonces++)
#endif

/* Charge the key in table `at`, whose tag was seen LIVE: by one CAS, or not at all. */
#define CHARGE(at, again, end_of) \
	atomic { STEP; word = states[at] } \
	if \
	:: MARK(word) == SEALED && !IS_ZERO(word, tag) -> FORGET; goto again \
	:: MARK(word) == DEAD && !IS_ZERO(word, tag) -> \
		CAS(tags[at], tag, FREED(tag), skip); FORGET; goto again \
	:: IS_ZERO(word, tag) && IS_GONE(at) -> FORGET; goto again \
	:: IS_UNUSED(word) && !IS_GONE(at) -> USE(at); FORGET; goto again \
	:: else -> skip \
	fi; \
	if \
	:: !IS_ZERO(word, tag) && COUNT(word) >= CAP -> FORGET; goto end_of \
	:: else -> \
		next = WORD(GEN(tag), OPEN, (IS_ZERO(word, tag) -> 1 : COUNT(word) + 1)); \
		CAS(states[at], word, next, admitted++) \
	fi; \
	if \
	:: is_done -> FORGET; goto end_of \
	:: else -> FORGET; goto again \
	fi

proctype worker() ALIVE
{
	byte tag, old, is_done, here = O, ops;
	short word, oldword, next;

again:
	if
	:: here == O -> goto in_o
	:: else -> goto in_n
	fi;

look:   /* which is in force? */
	atomic { STEP; if :: now > 0 -> here = N :: else fi };
	goto again;

in_o:
	atomic { STEP; tag = tags[O] }
	if
	:: STATUS(tag) == LIVE -> CHARGE(O, look, done)
	:: STATUS(tag) == MOVED -> FORGET; goto look
	:: STATUS(tag) == FREE && GEN(tag) < 3 -> CAS(tags[O], tag, TAG(TENT, GEN(tag)), skip);
		if
		:: is_done -> tag = TAG(TENT, GEN(tag)); goto resolve
		:: else -> FORGET; goto look
		fi
	:: STATUS(tag) == TENT -> goto resolve
	:: else -> FORGET; goto look
	fi;

resolve:
#ifndef LIVE_WITHOUT_LOOK
	atomic { STEP; next = now }
	if
	:: next > 0 -> CAS(tags[O], tag, FREED(tag), skip); FORGET; goto look
	:: else -> skip
	fi;
#endif
	CAS(tags[O], tag, TAG(LIVE, GEN(tag)), skip); FORGET; goto again;

in_n:
	atomic { STEP; tag = tags[N] }
	if
	:: STATUS(tag) == LIVE ->
		atomic { STEP; word = states[N] }
		if
		:: !IS_ZERO(word, tag) -> CHARGE(N, again, done)
		:: else -> FORGET
		fi
	:: else -> FORGET
	fi;
#ifndef CHARGE_WITHOUT_LOOK
	atomic { STEP; next = now }
	if
	:: next == 1 -> MOVE_KEY(again, stays)
	:: else -> FORGET
	fi;
#endif
	atomic { STEP; tag = tags[N] }
	if
	:: STATUS(tag) == LIVE -> CHARGE(N, again, done)
	:: else -> CAS(tags[N], tag, TAG(LIVE, GEN(tag)), skip); FORGET; goto again
	fi;

stays:
	atomic { STEP; tag = tags[O] }
	if
	:: STATUS(tag) == LIVE -> CHARGE(O, again, done)
	:: else -> FORGET; goto again
	fi;

done:
	DONE;
	ops++;
	if
	:: ops < OPS -> goto again
	:: else
	fi;
end:	skip
}

proctype mover() ALIVE
{
	byte tag, old, is_done;
	short word, oldword, next;

	now >= 1;
again:
#ifdef SETTLE_EARLY
	CAS(now, 1, 2, skip);
#else
	if
	:: now == 1 -> MOVE_KEY(again, end)
	:: else -> skip
	fi;
	atomic { STEP; tag = tags[O] }
	if
	:: STATUS(tag) == FREE || STATUS(tag) == MOVED -> CAS(now, 1, 2, skip); FORGET
	:: now == 2 -> FORGET
	:: else -> FORGET; goto again
	fi;
#endif
	/* The memory reads as zeros, tag and state each at its time. */
	if
	:: now == 2 ->
		atomic { STEP; tags[O] = 0; check() };
		atomic { STEP; states[O] = 0; check() }
	:: else -> skip
	fi;
end:	skip
}

proctype resetter() ALIVE
{
	byte tag, old, is_done;
	short word, oldword, next;

	now >= 1;
again:
	if
	:: now == 1 -> MOVE_KEY(again, again)
	:: else -> skip
	fi;
	atomic { STEP; tag = tags[N] }
	if
	:: STATUS(tag) == LIVE && GEN(tag) < 3 ->
		atomic { STEP; word = states[N] }
		if
		:: !IS_ZERO(word, tag) && MARK(word) == OPEN ->
			next = WORD(GEN(tag), DEAD, COUNT(word));
			CAS(states[N], word, next, forgotten = forgotten + COUNT(word))
			if
			:: is_done -> CAS(tags[N], tag, FREED(tag), skip)
			:: else -> FORGET; goto again
			fi
		:: else -> skip
		fi
	:: else -> skip
	fi;
	FORGET
}

proctype evictor() ALIVE
{
	byte tag, old, is_done;
	short word, oldword, next;

	atomic { STEP; tag = tags[N] }
	if
	:: STATUS(tag) == LIVE && GEN(tag) < 3 ->
		atomic { STEP; word = states[N] }
		next = WORD(GEN(tag), DEAD, (IS_ZERO(word, tag) -> 0 : COUNT(word)));
		if
		:: MARK(word) == OPEN || IS_ZERO(word, tag) ->
			CAS(states[N], word, next, forgotten = forgotten + (IS_ZERO(word, tag) -> 0 : COUNT(word)))
			if
			:: is_done -> CAS(tags[N], tag, FREED(tag), skip)
			:: else -> skip
			fi
		:: else -> skip
		fi
	:: else -> skip
	fi;
	FORGET
}

#ifdef SOLO
proctype killer()
{
	atomic { survivor == NOBODY ->
		if
		:: survivor = 1
		:: survivor = 2
		fi
	}
}
#endif

init
{
	byte i;

	atomic {
#ifdef REUSED
		tags[O] = TAG(FREE, 1); /* a slot that another key had */
		states[O] = WORD(0, DEAD, 0);
#endif
		for (i : 1 .. WORKERS) { run worker() }
#if MOVERS > 0
		for (i : 1 .. MOVERS) { run mover() }
#endif
#if RESETS > 0
		for (i : 1 .. RESETS) { run resetter() }
#endif
#if EVICTIONS > 0
		for (i : 1 .. EVICTIONS) { run evictor() }
#endif
#ifdef SOLO
		run killer();
#endif
	}
#ifdef SOLO
	atomic { survivor == NOBODY && now == 0 -> now = 1 }
#else
	now = 1 /* at any time; or never, for whoever sleeps */
#endif
}
