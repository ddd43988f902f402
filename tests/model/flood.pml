/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys without a place share an overflow counter: what a stranger, a claimer, an evictor and a helper do, each step one
 * access to one shared word, in every order. The tags are those of table.pml, with claim, resolve and retire as
 * there; of ring.pml it has freeze and close, with the closed sub-buckets in the word (that the ring beside it is
 * as good is shown there). All keys are of one limit and of one overflow counter; a sub-bucket is the unit of time.
 *
 *	USERS     processes that ask for key 0, once
 *	OTHERS    the same for key 1
 *	EVICTORS  processes that evict a LIVE slot, whosever it is, once
 *	RENEWERS  processes that give the limit's row its next incarnation
 *	SLEEPERS  processes that make a LIVE tag LEAVING: one that slept through 256 gens (table.c)
 *	SLOTS     where both keys may live
 *	GENS      a slot is claimed only while its gen is below
 *	CAP       capacity
 *	OVERFLOW_CAP  of the overflow counter: of a cluster's limit it is what is admitted without a share, and a slot has
 *	          as much more as its share; that there may be less of it only denies
 *	SHARES    a process that lends changes shares so often: a slot admits OVERFLOW_CAP and its share, and all shares, those
 *	          of incarnations before, too, are at most CAP - OVERFLOW_CAP. None is given back but by who lends
 *	T         the clock runs from FIRST to T; N sub-buckets are an epoch of the overflow counter
 *	FOLDS     the overflow counter counts its folds modulo this
 *	UNTIL     the word `until` is modelled: before it no carry can be left out
 *
 *	overflow  epoch E | cur | prev | incarnation | folds
 *	stranger  reads the overflow counter; CAS: cur + 1; reads the tags; reads folds again. LIVE or LEAVING, or another
 *	          number of folds: again, and its charge stays
 *	evictor   reads the state; CAS of the overflow counter: the larger of both, by component, folds + 1; CAS of
 *	          the state as it was read to DEAD; frees the tag
 *	carry     the first charge of a slot, its tag LIVE: reads the overflow counter, and begins with what it says
 *	               cur = prev = 0   in max(now, E * N)
 *	               cur = 0          frozen {E * N - 1, cur = prev, jump = 1}, which anyone closes
 *	               cur > 0          {(E + 1) * N - 1, cur + prev}: as late as any of it may be
 *
 *	lender    a share is set in the word, or taken from it if what counts leaves it, by CAS; a slot that was never
 *	          charged is carried first
 *
 * SIGKILL and SOLO are as in table.pml.
 *
 * What is checked at each admission: of its key, no N + 1 sub-buckets in a row hold more than CAP. Where one is counted
 * (`at`) is not what the implementation says, but the latest of: its own clock, the newest of its key, and the
 * sub-bucket to which another's clock has brought the slot or the overflow counter that it is counted in.
 */

#ifndef USERS
#define USERS 2
#endif
#ifndef OTHERS
#define OTHERS 0
#endif
#ifndef EVICTORS
#define EVICTORS 1
#endif
#ifndef RENEWERS
#define RENEWERS 0
#endif
#ifndef SLEEPERS
#define SLEEPERS 0
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef GENS
#define GENS 2
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef OVERFLOW_CAP
#define OVERFLOW_CAP CAP
#endif
#ifndef FIRST
#define FIRST 2
#endif
#ifndef T
#define T 2
#endif
#ifndef FOLDS
#define FOLDS 16
#endif

#define N 2
#define NOBODY 255
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* Tag: gen | key | status; a key is 2 bits: incarnation and name. */
#define FREE 0
#define TENT 1
#define LIVE 2
#define LEAVING 3
#define TAG(status, key, gen) ((status) | (key) << 2 | (gen) << 4)
#define STATUS(tag) ((tag) & 3)
#define KEY(tag) ((tag) >> 2 & 3)
#define GEN(tag) ((tag) >> 4)
#define IS(tag, status, key) (((tag) & 15) == TAG(status, key, 0))
#define FREED(tag) TAG(FREE, 0, GEN(tag) + 1)

/* State: gen | dead | jump | the second before | the one before | cur | epoch. */
#define STATE(gen, jump, epoch, cur, one, two) \
	((gen) | (jump) << 4 | (two) << 6 | (one) << 8 | (cur) << 10 | (epoch) << 12)
#define STATE_GEN(s) ((s) & 7)
#define DEAD 8
#define JUMP(s) ((s) >> 4 & 3)
#define TWO(s) ((s) >> 6 & 3)
#define ONE(s) ((s) >> 8 & 3)
#define CUR(s) ((s) >> 10 & 3)
#define EPOCH(s) ((s) >> 12 & 7)
#define ALL(s) (CUR(s) + ONE(s) + TWO(s))
#define NEWEST(s) (EPOCH(s) + JUMP(s))
#ifdef SHARES
#define SHARE(s) ((s) >> 15 & 3) /* above the epoch */
#define IS_OWN(s) (STATE_GEN(s) == GEN(mine))
#define ROOM(s) (OVERFLOW_CAP + (IS_OWN(s) -> SHARE(s) : 0))
#define KEPT(s) (IS_OWN(s) -> (s) & 3 << 15 : 0)
#else
#define ROOM(s) CAP
#define KEPT(s) 0
#endif
#define USED_AT(s, t) /* t > EPOCH(s) */ ((t) - EPOCH(s) == 1 -> CUR(s) + ONE(s) : ((t) - EPOCH(s) == 2 -> CUR(s) : 0))

/* Overflow counter: folds | incarnation | prev | cur | epoch. */
#define OVERFLOW(epoch, cur, prev, inc, folds) \
	((epoch) | (cur) << 3 | (prev) << 5 | (inc) << 7 | (folds) << 8)
#define OVERFLOW_E(c) ((c) & 7)
#define OVERFLOW_CUR(c) ((c) >> 3 & 3)
#define OVERFLOW_PREV(c) ((c) >> 5 & 3)
#define OVERFLOW_INC(c) ((c) >> 7 & 1)
#define OVERFLOW_FOLDS(c) ((c) >> 8)

/* As a request sees it whose clock says `t`: never an epoch that is over. */
#define SEEN_E(c, t) (OVERFLOW_E(c) > (t) / N -> OVERFLOW_E(c) : (t) / N)
#define SEEN_CUR(c, t, inc) (OVERFLOW_INC(c) != (inc) || OVERFLOW_E(c) < (t) / N -> 0 : OVERFLOW_CUR(c))
#define SEEN_PREV(c, t, inc) (OVERFLOW_INC(c) != (inc) -> 0 : \
	(OVERFLOW_E(c) >= (t) / N -> OVERFLOW_PREV(c) : (OVERFLOW_E(c) + 1 == (t) / N -> OVERFLOW_CUR(c) : 0)))

byte tags[SLOTS];
int states[SLOTS];
int overflow;
byte row;
byte clock = FIRST;
#ifdef UNTIL
byte until;
#endif

/* Not part of the protocol. */
byte admitted[(RENEWERS + 1) * 2 * (T + 1)];
byte newest[(RENEWERS + 1) * 2];
byte slot_is_at[SLOTS], overflow_is_at; /* the latest clock that brought it on */

#ifdef SOLO
byte survivor = NOBODY;
byte steps;
#define ALIVE provided (survivor == NOBODY || survivor == _pid)
#define STEP if :: survivor != NOBODY -> steps++; assert(steps <= SOLO) :: else fi
#else
#define ALIVE
#define STEP skip
#endif

hidden byte x, sum;

/* What an admission comes to, counted in `when` at the earliest. */
inline admit(k, when)
{
	d_step {
		x = k * (T + 1) + when;
		admitted[x]++;
		newest[k] = MAX(newest[k], when);
		x = 0;
		do
		:: x + N <= T ->
			sum = admitted[k * (T + 1) + x] + admitted[k * (T + 1) + x + 1] +
			      admitted[k * (T + 1) + x + 2];
			assert(sum <= CAP);
			x++
		:: else -> break
		od;
		assert(T >= N)
	}
}

/* Knowing nothing: what is no longer used must not tell states apart. */
#define AGAIN(start) \
	i = 0; at = 0; mine = NOBODY; tag = 0; seen = 0; w = 0; when = 0; goto start
#define ALL_OVER AGAIN(end)

inline free_tag(slot, old)
{
	if
	:: tags[slot] == old -> tags[slot] = FREED(old)
	:: else
	fi
}

inline leave(slot, old)
{
	if
	:: tags[slot] == old ->
		tags[slot] = TAG(LEAVING, KEY(old), GEN(old));
		old = tags[slot]
	:: else -> old = NOBODY
	fi
}

inline settle(slot, old, state)
{
	if
	:: tags[slot] == old ->
		if
		:: (state & DEAD) && STATE_GEN(state) == GEN(old) -> tags[slot] = FREED(old)
		:: else -> tags[slot] = TAG(LIVE, KEY(old), GEN(old))
		fi
	:: else
	fi
}

/* CAS of the state: `to` has been computed from `seen`. */
#define REPLACE(to) states[at] = (to) | KEPT(seen)

proctype user(byte name) ALIVE
{
	byte i, at, tag, t, key, when;
	byte mine = NOBODY;
	int seen, w;

begin:
	atomic {
		STEP;
		t = clock;
		key = name + 2 * row
	}
look:
	atomic {
		STEP;
		tag = tags[i];
		if
		:: IS(tag, LIVE, key) ->
			at = i; mine = tag; i = 0; tag = 0;
			goto charge
		:: IS(tag, TENT, key) ->
			at = i; mine = tag; i = 0; tag = 0;
			goto resolve
		:: STATUS(tag) == LEAVING ->
			at = i; mine = tag; i = 0; tag = 0;
			goto look_at_state
		:: STATUS(tag) == FREE && GEN(tag) < GENS ->
			if
			:: at = i; mine = tag
			:: mine != NOBODY
			fi
		:: else
		fi;
		tag = 0;
		i++;
		if
		:: i < SLOTS -> goto look
		:: else -> i = 0
		fi
	}

	/* No place: what does the overflow counter say? */
	atomic {
		STEP;
		w = overflow;
		if
#ifndef OLDER_ROW_WRITES
		:: OVERFLOW_INC(w) > key / 2 -> AGAIN(begin) /* the row is another by now */
#endif
		:: else
		fi;
		if
		:: SEEN_CUR(w, t, key / 2) + SEEN_PREV(w, t, key / 2) + 1 > OVERFLOW_CAP -> ALL_OVER
		:: else
		fi;
		if
		:: mine != NOBODY && (SEEN_CUR(w, t, key / 2) == 0) ->
#ifndef CARRY_BEFORE_LIVE
			w = 0;
#endif
			goto claim
		:: at = 0; mine = NOBODY
		fi
	}
#ifdef UNTIL
	atomic {
		STEP;
		until = MAX(until, (SEEN_E(w, t) + 2) * N)
	}
#endif
stranger:
	atomic {
		STEP;
		if
		:: overflow != w -> AGAIN(look)
		:: else
		fi;
		overflow_is_at = MAX(overflow_is_at, (t / N > OVERFLOW_E(w) -> t / N * N : 0));
		when = MAX(overflow_is_at, MAX(t, newest[key]));
		overflow = OVERFLOW(SEEN_E(w, t), SEEN_CUR(w, t, key / 2) + 1, SEEN_PREV(w, t, key / 2), key / 2,
			OVERFLOW_FOLDS(w));
#ifdef NO_RECHECK
		goto recheck_folds
#endif
	}
recheck:
	atomic {
		STEP;
		tag = tags[i];
		if
#ifdef RECHECK_LIVE_ALONE
		:: IS(tag, LIVE, key) -> AGAIN(look)
#else
		:: IS(tag, LIVE, key) || IS(tag, LEAVING, key) -> AGAIN(look)
#endif
		:: else
		fi;
		tag = 0;
		i++;
		if
		:: i < SLOTS -> goto recheck
		:: else -> i = 0
		fi
	}
recheck_folds:
	atomic {
		STEP;
		if
#ifndef NO_FOLDS
		:: OVERFLOW_FOLDS(overflow) != OVERFLOW_FOLDS(w) -> AGAIN(look)
#endif
#ifndef RECHECK_FOLDS_ALONE
		:: OVERFLOW_INC(overflow) != key / 2 -> AGAIN(begin) /* since then nothing is folded for the old row */
#endif
		:: else
		fi;
		admit(key, when);
		ALL_OVER
	}

claim:
	atomic {
		STEP;
		if
		:: tags[at] == mine ->
			mine = TAG(TENT, key, GEN(mine));
			tags[at] = mine
		:: else -> AGAIN(look)
		fi
	}

	/* As in table.pml. */
resolve:
	atomic {
		STEP;
		if
		:: i == SLOTS -> i = 0; goto make_live
		:: else
		fi;
		tag = tags[i];
		if
		:: i == at -> i++
		:: i != at && IS(tag, LIVE, key) -> goto give_way
		:: i != at && IS(tag, LEAVING, key) -> goto look_at_other
		:: i < at && IS(tag, TENT, key) -> goto give_way
		:: i > at && IS(tag, TENT, key) -> goto free_higher
		:: else -> i++
		fi;
		tag = 0
	}
	goto resolve;
free_higher:
	atomic {
		STEP;
		free_tag(i, tag);
		tag = 0;
		goto resolve
	}
look_at_other:
	atomic {
		STEP;
		seen = states[i]
	}
	atomic {
		STEP;
		settle(i, tag, seen);
		tag = 0; seen = 0;
		goto resolve
	}
give_way:
	atomic {
		STEP;
		free_tag(at, mine);
		at = i;
		mine = tag;
		tag = 0;
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
			tags[at] = mine
		:: else -> AGAIN(look)
		fi
	}

	/* `mine` is the LIVE tag as it was at `at` when seen or made. */
charge:
	atomic {
		STEP;
		seen = states[at];
		when = slot_is_at[at];
		if
		:: STATE_GEN(seen) != GEN(mine) -> goto look_again
		:: STATE_GEN(seen) == GEN(mine) && (seen & DEAD) -> goto finish
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: t > NEWEST(seen) && JUMP(seen) == 0 && USED_AT(seen, t) + 1 > ROOM(seen) -> ALL_OVER
		:: t <= EPOCH(seen) && JUMP(seen) == 0 && ALL(seen) + 1 > ROOM(seen) -> ALL_OVER
		:: else
		fi;
		if
		:: states[at] != seen -> AGAIN(look)
		:: else
		fi;
		if
		:: JUMP(seen) == 1 -> REPLACE(STATE(GEN(mine), 0, EPOCH(seen) + 1, 0, CUR(seen), ONE(seen)))
		:: JUMP(seen) == 2 -> REPLACE(STATE(GEN(mine), 0, EPOCH(seen) + 2, 0, 0, CUR(seen)))
		:: JUMP(seen) == 0 && t > EPOCH(seen) + N ->
			REPLACE(STATE(GEN(mine), 0, t, 1, 0, 0));
			slot_is_at[at] = t;
			when = MAX(t, newest[key]);
			admit(key, when);
			ALL_OVER
		:: JUMP(seen) == 0 && t > EPOCH(seen) && t <= EPOCH(seen) + N ->
			REPLACE(seen | (t - EPOCH(seen)) << 4);
			slot_is_at[at] = t
		:: JUMP(seen) == 0 && t <= EPOCH(seen) ->
			REPLACE(seen + (1 << 10));
			when = MAX(slot_is_at[at], MAX(t, newest[key]));
			admit(key, when);
			ALL_OVER
		fi;
		seen = 0; when = 0;
		goto charge
	}

	/* Nothing was charged since it is the key's. */
look_again:
	atomic {
		STEP;
		when = 0;
		if
		:: tags[at] != mine -> AGAIN(look)
		:: else
		fi;
#ifdef CARRY_BEFORE_LIVE
		goto carried
#endif
	}
#ifdef UNTIL
	atomic {
		STEP;
		if
		:: until <= t -> w = OVERFLOW(0, 0, 0, key / 2, 0); goto carried
		:: else
		fi
	}
#endif
	atomic {
		STEP;
		w = overflow;
		when = overflow_is_at;
		if
#ifndef OLDER_ROW_WRITES
		:: OVERFLOW_INC(w) > key / 2 -> AGAIN(begin)
#endif
		:: else
		fi
	}
carried:
	atomic {
		STEP;
#ifdef NO_CARRY
		w = OVERFLOW(0, 0, 0, key / 2, 0);
#endif
#ifdef CARRY_WITHOUT_PREV
		w = OVERFLOW(SEEN_E(w, t), SEEN_CUR(w, t, key / 2), 0, key / 2, 0);
#endif
		if
		:: SEEN_CUR(w, t, key / 2) + SEEN_PREV(w, t, key / 2) + 1 > ROOM(seen) -> ALL_OVER
		:: states[at] != seen -> AGAIN(look)
		:: else
		fi;
		slot_is_at[at] = MAX(when, SEEN_E(w, t) * N);
		when = 0;
		if
		:: SEEN_CUR(w, t, key / 2) == 0 && SEEN_PREV(w, t, key / 2) == 0 ->
			REPLACE(STATE(GEN(mine), 0, MAX(t, SEEN_E(w, t) * N), 1, 0, 0));
			slot_is_at[at] = MAX(t, slot_is_at[at])
		:: SEEN_CUR(w, t, key / 2) == 0 && SEEN_PREV(w, t, key / 2) > 0 ->
			REPLACE(STATE(GEN(mine), 1, SEEN_E(w, t) * N - 1, SEEN_PREV(w, t, key / 2), 0, 0));
			seen = 0; w = 0;
			goto charge
		:: SEEN_CUR(w, t, key / 2) > 0 ->
#ifdef CARRY_AT_OWN_TIME
			REPLACE(STATE(GEN(mine), 0, MAX(t, SEEN_E(w, t) * N),
				SEEN_CUR(w, t, key / 2) + SEEN_PREV(w, t, key / 2) + 1, 0, 0))
#else
			REPLACE(STATE(GEN(mine), 0, SEEN_E(w, t) * N + N - 1,
				SEEN_CUR(w, t, key / 2) + SEEN_PREV(w, t, key / 2) + 1, 0, 0))
#endif
		fi;
		when = MAX(slot_is_at[at], MAX(t, newest[key]));
		admit(key, when);
		ALL_OVER
	}

finish:
	atomic {
		STEP;
		when = 0;
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

/* Which sub-buckets of `seen` are of the overflow counter's epoch `e`, and which of the one before. */
hidden byte e, cu, pr;

inline component(epoch, count)
{
	if
	:: (epoch) / N == e -> cu = cu + (count)
	:: (epoch) / N + 1 == e -> pr = pr + (count)
	:: else
	fi
}

inline fold_overflow()
{
	d_step {
		cu = 0;
		pr = 0;
		e = MAX(OVERFLOW_E(w), NEWEST(seen) / N);
		component(EPOCH(seen), CUR(seen));
		if
		:: JUMP(seen) <= 1 && EPOCH(seen) >= 1 -> component(EPOCH(seen) - 1, ONE(seen))
		:: else
		fi;
		if
		:: JUMP(seen) == 0 && EPOCH(seen) >= 2 -> component(EPOCH(seen) - 2, TWO(seen))
		:: else
		fi;
		/* Brought on without a charge: what has left is forgotten, so none may be counted before it. */
		if
		:: NEWEST(seen) / N == e && NEWEST(seen) > e * N && cu == 0 -> cu = 1
		:: else
		fi;
#ifdef FOLD_WITHOUT_CUR
		cu = 0;
#endif
		x = SEEN_CUR(w, e * N, KEY(mine) / 2);
		sum = SEEN_PREV(w, e * N, KEY(mine) / 2);
		overflow_is_at = MAX(overflow_is_at, when);
#ifdef FOLD_UNCOUNTED
		overflow = OVERFLOW(e, MAX(x, cu), MAX(sum, pr), KEY(mine) / 2, OVERFLOW_FOLDS(w))
#else
		overflow = OVERFLOW(e, MAX(x, cu), MAX(sum, pr), KEY(mine) / 2, (OVERFLOW_FOLDS(w) + 1) % FOLDS)
#endif
	}
}

proctype evictor() ALIVE
{
	byte i, at, tag, when;
	byte mine = NOBODY;
	int seen, w;

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
		:: else -> ALL_OVER
		fi
	}
state:
	atomic {
		STEP;
		seen = states[at];
		when = slot_is_at[at];
		if
		:: STATE_GEN(seen) != GEN(mine) -> when = 0; goto look_again
		:: STATE_GEN(seen) == GEN(mine) && (seen & DEAD) -> when = 0; goto finish
		:: else
		fi
	}
#ifdef NO_FOLD
	goto retire;
#endif
#ifdef RETIRE_THEN_FOLD
	goto retire;
#endif
#ifdef UNTIL
#ifndef UNTIL_NOT_BY_FOLD
	atomic {
		STEP;
		until = MAX(until, (NEWEST(seen) / N + 2) * N)
	}
#endif
#endif
fold:
	atomic {
		STEP;
		w = overflow;
		if
#ifndef OLDER_ROW_WRITES
		:: OVERFLOW_INC(w) > KEY(mine) / 2 -> w = 0; when = 0; goto retire /* it was left behind */
#endif
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: overflow != w -> w = 0; goto fold
		:: else
		fi;
		fold_overflow();
		w = 0
	}
#ifdef RETIRE_THEN_FOLD
	when = 0;
	goto finish;
#endif
retire:
	atomic {
		STEP;
#ifndef RETIRE_THEN_FOLD
		when = 0;
#endif
		if
#ifdef RETIRE_ANY_COUNT
		:: STATE_GEN(states[at]) == STATE_GEN(seen) && (states[at] & DEAD) == (seen & DEAD) ->
#else
		:: states[at] == seen ->
#endif
			states[at] = GEN(mine) | DEAD
		:: else -> AGAIN(pick)
		fi
	}
#ifdef RETIRE_THEN_FOLD
	if
	:: STATE_GEN(seen) == GEN(mine) && !(seen & DEAD) -> goto fold
	:: else
	fi;
#endif
	goto finish;
look_again:
	atomic {
		STEP;
		if
		:: tags[at] != mine -> ALL_OVER
		:: else -> goto retire
		fi
	}
finish:
	atomic {
		STEP;
		leave(at, mine);
		if
		:: mine == NOBODY -> ALL_OVER
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
		ALL_OVER
	}
give_way:
	atomic {
		STEP;
		free_tag(at, mine);
		ALL_OVER
	}
end:
	skip
}

#ifdef SHARES
byte pool = CAP - OVERFLOW_CAP; /* what the store has */

proctype lender() ALIVE
{
	byte at, t, when, inc, changes;
	byte mine = NOBODY;
	int seen, w;

pick:
	atomic {
		STEP;
		t = clock;
		do
		:: at + 1 < SLOTS -> at++
		:: break
		od;
		mine = tags[at];
		if
		:: STATUS(mine) != LIVE || changes == SHARES -> goto end
		:: else -> inc = KEY(mine) / 2
		fi
	}
	atomic {
		STEP;
		seen = states[at];
		if
		:: IS_OWN(seen) && (seen & DEAD) -> goto end
		:: IS_OWN(seen) && !(seen & DEAD) -> goto change
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: tags[at] != mine -> goto end
		:: else
		fi
	}
	atomic {
		STEP;
#ifdef LEND_WITHOUT_CARRY
		w = OVERFLOW(0, 0, 0, inc, 0);
#else
		w = overflow;
#endif
		when = overflow_is_at;
		if
		:: OVERFLOW_INC(w) > inc -> goto end
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: states[at] != seen -> goto again
		:: else
		fi;
		slot_is_at[at] = MAX(when, SEEN_E(w, t) * N);
		if
		:: SEEN_CUR(w, t, inc) == 0 && SEEN_PREV(w, t, inc) == 0 ->
			states[at] = STATE(GEN(mine), 0, MAX(t, SEEN_E(w, t) * N), 0, 0, 0);
			slot_is_at[at] = MAX(t, slot_is_at[at])
		:: SEEN_CUR(w, t, inc) == 0 && SEEN_PREV(w, t, inc) > 0 ->
			states[at] = STATE(GEN(mine), 1, SEEN_E(w, t) * N - 1, SEEN_PREV(w, t, inc), 0, 0)
		:: SEEN_CUR(w, t, inc) > 0 ->
			states[at] = STATE(GEN(mine), 0, SEEN_E(w, t) * N + N - 1,
				SEEN_CUR(w, t, inc) + SEEN_PREV(w, t, inc), 0, 0)
		fi;
		goto again
	}

	/* The store grants, and then the word is raised; it is lowered, and then the store has more. */
change:
	atomic {
		STEP;
		changes++;
		if
		:: pool > 0 -> pool--; w = seen + (1 << 15)
		:: SHARE(seen) > 0 && ALL(seen) < SHARE(seen) -> w = seen - (1 << 15)
		:: goto end
		fi
	}
	atomic {
		STEP;
		if
		:: states[at] == seen -> states[at] = w
		:: else -> goto again /* what was granted is not used */
		fi
	}
	atomic {
		STEP;
		if
		:: SHARE(w) < SHARE(seen) -> pool++
		:: else
		fi
	}
again:
	atomic { at = 0; mine = NOBODY; seen = 0; w = 0; when = 0; t = 0; inc = 0; goto pick }
end:
	skip
}
#endif

proctype renewer()
{
	row++
}

proctype sleeper()
{
	byte at;

	do
	:: at + 1 < SLOTS -> at++
	:: break
	od;
	atomic {
		if
		:: STATUS(tags[at]) == LIVE -> tags[at] = TAG(LEAVING, KEY(tags[at]), GEN(tags[at]))
		:: else
		fi
	}
}

proctype ticker()
{
	do
	:: clock < T -> clock++
	:: else -> break
	od
}

init {
	byte n;

	atomic {
		/* No word is of gen 0 but in new memory. */
		do
		:: n < SLOTS -> states[n] = 7; n++
		:: else -> break
		od;
		n = 0;
		do
		:: n < USERS -> run user(0); n++
		:: n >= USERS && n < USERS + OTHERS -> run user(1); n++
		:: n >= USERS + OTHERS && n < USERS + OTHERS + EVICTORS -> run evictor(); n++
		:: else -> break
		od;
#ifdef SHARES
		run lender();
#endif
		if
		:: RENEWERS > 0 -> run renewer()
		:: else
		fi;
		if
		:: SLEEPERS > 0 -> run sleeper()
		:: else
		fi;
		if
		:: T > FIRST -> run ticker()
		:: else
		fi
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
