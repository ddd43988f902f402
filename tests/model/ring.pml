/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One slot's state word and ring, as libshm/algorithm/window.c decides, libshm/decide/decide.c acts and
 * libshm/algorithm/ring.h says: charge, freeze, store, close, restart, refund, retire.
 * Each step is one access to one shared word, in every order.
 *
 *	WORKERS   processes that charge 1, or refund 1, again and again
 *	RETIRERS  processes that retire the slot at any time; its next incarnation begins at
 *	          once. What happens to the tag on the way is in table.pml.
 *	N         granularity
 *	T         time is one of the sub-buckets 0 .. T
 *	CAP       capacity
 *	GENS      the last incarnation; the first is 1, upon the zeroes of an earlier one
 *	REFUNDS   refunds of what was charged in the state's own sub-bucket are modelled
 *	LATE      so are those of a closed one, which take two steps: its entry is lowered, and then the sum, or
 *	          if the word has changed meanwhile, that is made what the ring has
 *	DEBTS     a worker may also charge 1 that was not asked for, as rl_settle() does for what a request
 *	          has cost beyond its charge: whatever CAP says, as long as no more than DEBTS count
 *	ESTIMATE  the oldest sub-bucket may count for any share of it, instead of in full
 *	SUMS_ONLY the ring's entries are not looked at, only what follows from them
 *	ALIAS     an entry keeps its epoch modulo this
 *	SHARES    a limit of a cluster: the word has a share, of at most so much, which one more process
 *	          raises to all of it, lowers and gives back, as libshm/cluster/share.c does; BLIND is
 *	          admitted beside it, and CAP has no meaning. `lent` is what the store holds for
 *	          the incarnation: it is not less than the share, and nothing counts beyond it and BLIND
 *
 * Time. There is no clock: each time a worker decides, `now` is any sub-bucket at all, that
 * is, clocks lag and jump by any amount, within a request too. This contains what real clocks
 * can do.
 *
 * SIGKILL. A process that is killed is one that takes no further step, and every order of
 * steps contains those in which it does not. What holds in every state therefore holds with
 * any number of kills between any two steps. SOLO adds the other half, that nobody waits: at
 * any moment all processes but one may be killed at once, and that one must then complete
 * its request within SOLO steps of its own, whatever the dead have left.
 *
 * `admitted` is the truth to compare with: charges less refunds of the incarnation, by
 * sub-bucket. After every step that writes:
 *	cur is what was admitted in epoch, nothing was admitted later
 *	sum is what was admitted in the closed sub-buckets that span and window hold: at epoch, or of a
 *	frozen state, at epoch + jump. With LATE it may be more: until N sub-buckets in a row, begun after the
 *	last entry was lowered, have been rolled, which is within 2 N
 *	what was admitted before span lies outside the window
 *	ring holds exactly what was admitted, for each sub-bucket of span; of a frozen state,
 *	for each that the closer needs
 *	a copy of the ring that passed its second look holds what was admitted
 *	any N + 1 sub-buckets in a row admitted CAP at most (without ESTIMATE); with DEBTS, those up to a
 *	charge that was asked for, at the time of it, debts included
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RETIRERS
#define RETIRERS 0
#endif
#ifndef N
#define N 2
#endif
#ifndef T
#define T 4
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef GENS
#define GENS 1
#endif
#ifndef ALIAS
#define ALIAS 16
#endif

/* State word: share | dead | gen | jump | span | sum | cur | epoch. */
#define WORD(epoch, cur, sum, span, jump, gen) \
	((epoch) | (cur) << 4 | (sum) << 7 | (span) << 10 | (jump) << 12 | (gen) << 14)
#define EPOCH(word) ((word) & 15)
#define CUR(word) ((word) >> 4 & 7)
#define SUM(word) ((word) >> 7 & 7)
#define SPAN(word) ((word) >> 10 & 3)
#define JUMP(word) ((word) >> 12 & 3)
#define WORD_GEN(word) ((word) >> 14 & 3)
#define DEAD (1 << 16)
#define CUR_MASK (7 << 4)
#define WITH_SUM(word, sum) (((word) & ~(7 << 7)) | (sum) << 7)
#define WITH_GEN(word, gen) (((word) & ~(3 << 14)) | (gen) << 14)
#define ONE (1 << 4) /* in cur */
#define ONE_OF_SUM (1 << 7)
#ifdef SHARES
#ifndef BLIND
#define BLIND 0
#endif
#define SHARE(word) ((word) >> 17 & 3)
#define WITH_SHARE(word, share) (((word) & ~(3 << 17)) | (share) << 17)
#define LIMIT(word) (SHARE(word) + BLIND)
#ifdef NO_CARRY
#define CARRIED(word) WITH_SHARE(0, SHARES)
#else
#define CARRIED(word) ((word) & 3 << 17)
#endif
#elif defined(DEBTS)
#define LIMIT(word) most
#define CARRIED(word) 0
#else
#define LIMIT(word) CAP
#define CARRIED(word) 0
#endif

#ifdef DEBTS
#define FORGET_MOST most = 0
#else
#define FORGET_MOST skip
#endif

/* Ring entry: gen | count | epoch. */
#ifdef NO_GEN_IN_ENTRY
#define ENTRY(epoch, count, gen) ((epoch) % ALIAS | (count) << 4)
#else
#define ENTRY(epoch, count, gen) ((epoch) % ALIAS | (count) << 4 | (gen) << 8)
#endif
#define ENTRY_COUNT(entry) ((entry) >> 4 & 15)
#define ONE_OF_ENTRY (1 << 4)

#define MIN(a, b) ((a) < (b) -> (a) : (b))

int word;
#ifdef SHARES
byte lent; /* by the store to this incarnation */
bit left;  /* what the word counts beyond that had left the window when it was lowered */
#endif
#ifdef LATE
byte lowered; /* the epoch when an entry was lowered last */
#endif
short ring[N];
byte tag = 1; /* its gen; it is always LIVE */
byte admitted[T + 1];

#ifdef SOLO
#define NOBODY 255
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

hidden byte x, y, from, total;

inline check()
{
	d_step {
		x = 0;
		if
		:: WORD_GEN(word) != tag || (word & DEAD) ->
			do
			:: x <= T -> assert(admitted[x] == 0); x++
			:: else -> break
			od
		:: else ->
			total = 0;
			do
			:: x < EPOCH(word) ->
				if
				:: x + N >= EPOCH(word) + JUMP(word) && x + SPAN(word) >= EPOCH(word) ->
#ifndef SUMS_ONLY
					assert(ring[x % N] == ENTRY(x, admitted[x], tag));
#endif
					total = total + admitted[x]
				:: x + N >= EPOCH(word) && x + SPAN(word) < EPOCH(word) ->
					assert(admitted[x] == 0)
				:: else
				fi;
				x++
			:: else -> break
			od;
#ifdef LATE
			assert(SUM(word) >= total);
			assert(SUM(word) == total || EPOCH(word) + JUMP(word) < lowered + 2 * N);
#else
			assert(SUM(word) == total);
#endif
			assert(CUR(word) == admitted[x]);
#ifdef SHARES
			assert(SHARE(word) <= lent);
			assert(left || CUR(word) + SUM(word) <= lent + BLIND);
#endif
			x++;
			do
			:: x <= T -> assert(admitted[x] == 0); x++
			:: else -> break
			od;
#if !defined(ESTIMATE) && !defined(SHARES) && !defined(DEBTS)
			from = 0;
			do
			:: from <= T ->
				total = 0;
				y = from;
				do
				:: y <= T && y <= from + N -> total = total + admitted[y]; y++
				:: else -> break
				od;
				assert(total <= CAP);
				from++
			:: else -> break
			od
#endif
		fi;
		x = 0; y = 0; from = 0; total = 0
	}
}

#ifdef DEBTS
/* A charge that was asked for found room beside all that counts by then, debts included. */
inline check_asked()
{
	d_step {
		total = 0;
		y = (EPOCH(word) > N -> EPOCH(word) - N : 0);
		do
		:: y <= EPOCH(word) -> total = total + admitted[y]; y++
		:: else -> break
		od;
		assert(total <= CAP);
		y = 0; total = 0
	}
}
#endif

/* What a step pays when its CAS succeeds. */
#define NOTHING 0
#define CHARGE 1
#define REFUND 2

/* Back to the start, knowing nothing: what is no longer used must not tell states apart. */
#define AGAIN \
	FORGET_RING; FORGET_MOST; \
	gen = 0; seen = 0; next = 0; pays = NOTHING; k = 0; old = 0; now = 0; age = 0; used = 0; \
	goto start

#if N == 2
#define FORGET_RING copy[0] = 0; copy[1] = 0
#else
#define FORGET_RING copy[0] = 0; copy[1] = 0; copy[2] = 0
#endif

/* Does freezing for `distance` add up what stays? Else it takes away what leaves. */
#ifdef NO_ADD_UP
#define ADDS_UP(distance) false
#else
#define ADDS_UP(distance) (EPOCH(seen) % N + (distance) >= N)
#endif

/* What of the closed sub-buckets will count `distance` after seen's epoch, in `used`: the sum of a frozen word. */
inline sum_after(distance)
{
	used = (ADDS_UP(distance) -> 0 : SUM(seen));
	k = 1;
	do
	:: k <= SPAN(seen) ->
		if
		:: ADDS_UP(distance) && k + distance <= N -> used = used + copy[k - 1]
#ifndef LEAVES_STAY
		:: !ADDS_UP(distance) && k + distance > N -> used = used - MIN(used, copy[k - 1])
#endif
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

/* What counts at seen's epoch, less what has left `distance` after it, in `used`. */
inline count_at(distance)
{
	used = CUR(seen) + SUM(seen);
	k = 1;
	do
	:: k <= SPAN(seen) ->
		if
		:: k + JUMP(seen) <= N && k + distance > N -> used = used - MIN(used, copy[k - 1])
#ifdef ESTIMATE
		:: k + distance == N && share -> used = used - MIN(used, copy[k - 1])
#endif
		:: else
		fi;
		k++
	:: else -> break
	od;
#ifdef ESTIMATE
	if
	:: distance == N && share -> used = used - MIN(used, CUR(seen))
	:: else
	fi;
#endif
	k = 0
}

/* rl_window_decide() for a state that is the slot's. copy[] counts only if is_ringed. */
inline decide(is_ringed)
{
	now = 0;
	do
	:: now < T -> now++
	:: break
	od;
#ifdef DEBTS
	if
	:: most == 0 -> most = CAP
	:: most == 0 -> most = DEBTS
	:: else
	fi;
#ifdef DEBT_FROZEN
	if
	:: most == DEBTS && JUMP(seen) > 0 && CUR(seen) + SUM(seen) < DEBTS ->
		next = seen + ONE;
		pays = CHARGE;
		FORGET_RING;
		now = 0;
		goto swap
	:: else
	fi;
#endif
#endif
#ifdef TIME_GOES_BACK
	if
	:: now < EPOCH(seen) && JUMP(seen) == 0 ->
		next = WORD(now, 1, SUM(seen), SPAN(seen), 0, gen);
		pays = CHARGE;
		FORGET_RING;
		now = 0;
		goto swap
	:: else
	fi;
#endif
#ifdef CHARGE_FROZEN
	if
	:: now == EPOCH(seen) && JUMP(seen) > 0 && CUR(seen) + SUM(seen) < LIMIT(seen) ->
		next = seen + ONE;
		pays = CHARGE;
		FORGET_RING;
		now = 0;
		goto swap
	:: else
	fi;
#endif
	if
	:: now < EPOCH(seen) + JUMP(seen) -> now = EPOCH(seen) + JUMP(seen)
	:: else
	fi;
	age = now - EPOCH(seen);
	if
#ifdef SHARES
	:: age > N && LIMIT(seen) == 0 -> now = 0; age = 0; DONE; AGAIN
#endif
	:: age > N && LIMIT(seen) > 0 ->
#ifdef RESTART_KEEPS_SPAN
		next = WORD(now, 1, 0, SPAN(seen), 0, gen);
#else
		next = WORD(now, 1, 0, 0, 0, gen) | CARRIED(seen);
#endif
		pays = CHARGE;
		FORGET_RING;
		now = 0; age = 0;
		goto swap
	:: else
	fi;
#ifdef ONE_TOO_MANY
	if
	:: CUR(seen) + SUM(seen) > LIMIT(seen) ->
#elif defined(DEBT_UNBOUNDED)
	if
	:: most == CAP && CUR(seen) + SUM(seen) + 1 > LIMIT(seen) ->
#else
	if
	:: CUR(seen) + SUM(seen) + 1 > LIMIT(seen) ->
#endif
		if
		:: SUM(seen) > 0 && !is_ringed ->
			now = 0; age = 0;
			goto copy_ring
		:: else
		fi;
#ifdef ESTIMATE
		/* Any share of the oldest: all of it or none are the extremes. */
		if
		:: share = 0
		:: share = 1
		fi;
#endif
		count_at(age);
#ifdef ESTIMATE
		share = 0;
#endif
		if
#ifdef ONE_TOO_MANY
		:: used > LIMIT(seen) ->
#else
		:: used + 1 > LIMIT(seen) ->
#endif
			DONE;
			AGAIN
		:: else -> used = 0
		fi
	:: else
	fi;
	if
	:: age == 0 ->
		next = seen + ONE;
		pays = CHARGE;
		FORGET_RING;
		now = 0;
		goto swap
	:: else
	fi;
#ifndef NO_FREEZE
	if
	:: JUMP(seen) == 0 ->
		if
		:: !is_ringed && SUM(seen) > 0 && (ADDS_UP(age) || SPAN(seen) + age > N) ->
			now = 0; age = 0;
			goto copy_ring
		:: else
		fi;
		sum_after(age);
		next = WORD(EPOCH(seen), CUR(seen), used, SPAN(seen), age, gen) | CARRIED(seen);
		FORGET_RING;
		now = 0; age = 0; used = 0;
		goto swap
	:: else
	fi;
#endif
	/* The target: the jump of whoever froze it. */
#ifndef JUMP_OWN
	if
	:: JUMP(seen) > 0 -> age = JUMP(seen)
	:: else
	fi;
#endif
	used = CUR(seen) + SUM(seen);
	pays = (now == EPOCH(seen) + age -> CHARGE : NOTHING);
	next = WORD(EPOCH(seen) + age, pays, used, MIN(SPAN(seen) + age, N), 0, gen) | CARRIED(seen);
	FORGET_RING;
	now = 0; age = 0; used = 0;
	goto store
}

#define STEPS (EPOCH(next) - EPOCH(seen))
#define VALUE ENTRY(EPOCH(seen) + k, (k == 0 -> CUR(seen) : 0), gen)
#define PLACE ((EPOCH(seen) + k) % N)

proctype worker() ALIVE
{
	int seen, next;
	short old;
	byte copy[N];
	byte gen, pays, k, now, age, used;
#ifdef ESTIMATE
	bit share;
#endif
#ifdef DEBTS
	byte most; /* may count, with this charge */
#endif

start:
#if RETIRERS > 0
	atomic {
		STEP;
		gen = tag
	}
#endif
	atomic {
		STEP;
#if RETIRERS == 0
		gen = tag;
#endif
		seen = word;
		if
#ifdef WAIT_WHILE_FROZEN
		:: JUMP(seen) > 0 -> AGAIN
#endif
		:: WORD_GEN(seen) != gen -> goto look_again
		:: WORD_GEN(seen) == gen && (seen & DEAD) -> goto finish
#ifdef REFUNDS
		:: WORD_GEN(seen) == gen && !(seen & DEAD) && CUR(seen) > 0 ->
			/* What was charged in this epoch, frozen or not. */
			next = seen - ONE;
			pays = REFUND;
			goto swap
#endif
		:: WORD_GEN(seen) == gen && !(seen & DEAD) -> decide(false)
#ifdef LATE
		:: WORD_GEN(seen) == gen && !(seen & DEAD) && SPAN(seen) > 0 ->
			k = 1;
			do
			:: k < SPAN(seen) -> k++
			:: break
			od;
			if
			:: k + JUMP(seen) > N -> k = 0; DONE; AGAIN /* it has left */
			:: else -> now = EPOCH(seen) - k; k = 0; goto late
			fi
#endif
		fi
	}

look_again:
	atomic {
		STEP;
		if
		:: tag != gen -> AGAIN
		:: else
		fi;
#ifdef SHARES
		if
		:: BLIND == 0 -> DONE; AGAIN
		:: else
		fi;
#endif
		do
		:: now < T -> now++
		:: break
		od;
		next = WORD(now, 1, 0, 0, 0, gen);
		pays = CHARGE;
		now = 0;
		FORGET_MOST;
		goto swap
	}

copy_ring:
	atomic {
		STEP;
		old = ring[(EPOCH(seen) - (k + 1)) % N];
		if
		:: old == ENTRY(EPOCH(seen) - (k + 1), ENTRY_COUNT(old), gen) ->
			copy[k] = ENTRY_COUNT(old)
		:: else
		fi;
		old = 0;
		k++;
		if
		:: k < SPAN(seen) -> goto copy_ring
		:: else -> k = 0
		fi
	}
	atomic {
		STEP;
		if
#ifndef COPY_WITHOUT_RECHECK
		:: (word & ~CUR_MASK) != (seen & ~CUR_MASK) -> AGAIN
#endif
		:: else
		fi;
#ifndef SUMS_ONLY
		do
		:: k < SPAN(seen) && k + 1 + JUMP(seen) <= N ->
#ifdef LATE
			assert(copy[k] >= admitted[EPOCH(seen) - (k + 1)]);
#else
			assert(copy[k] == admitted[EPOCH(seen) - (k + 1)]);
#endif
			k++
		:: else -> break
		od;
		k = 0;
#endif
		decide(true)
	}

store:
	atomic {
		STEP;
		if
#ifdef CLOSE_WITHOUT_STORE
		:: true -> goto swap
#endif
#ifdef NO_ZERO_FILL
		:: k == 1 -> k = 0; goto swap
#endif
		:: k == STEPS -> k = 0; goto swap
		:: else
		fi;
		old = ring[PLACE]
	}
	atomic {
		STEP;
		if
#ifndef STORE_WITHOUT_RECHECK
		:: word != seen -> AGAIN
#endif
		:: else
		fi;
		if
		:: old == VALUE ->
			old = 0;
			k++;
			goto store
		:: else
		fi
	}
	atomic {
		STEP;
		if
#ifdef STORE_BLINDLY
		:: true ->
#else
		:: ring[PLACE] == old ->
#endif
			ring[PLACE] = VALUE;
			check();
			k++
		:: else
		fi;
		old = 0;
		goto store
	}

swap:
	atomic {
		STEP;
		if
#ifdef DEBT_BLINDLY
		:: most == DEBTS && pays == CHARGE && word != seen && tag == gen && WORD_GEN(word) == gen ->
			word = word + ONE;
			admitted[EPOCH(next)]++;
			check()
#endif
		:: word == seen ->
			assert(tag == gen);
			word = next;
#ifdef SHARES
			if
			:: CUR(word) + SUM(word) <= lent + BLIND -> left = 0
			:: else
			fi;
#endif
			if
			:: pays == CHARGE -> admitted[EPOCH(next)]++
#ifdef REFUND_ANY_EPOCH
			/* Of the epoch before it, if anything was charged there. */
			:: pays == REFUND && EPOCH(next) > 0 && admitted[EPOCH(next) - 1] > 0 ->
				admitted[EPOCH(next) - 1]--
#endif
			:: pays == REFUND -> admitted[EPOCH(next)]--
			:: else
			fi;
			check();
#ifdef DEBTS
			if
			:: pays == CHARGE && most == CAP -> check_asked()
			:: else
			fi;
#endif
			if
			:: pays != NOTHING -> DONE
			:: else
			fi
		:: else
		fi;
		AGAIN
	}

#ifdef LATE
late: /* a unit that was charged in `now` is given back: first in the ring, */
	atomic {
		STEP;
		old = ring[now % N];
		if
		:: old != ENTRY(now, ENTRY_COUNT(old), gen) || ENTRY_COUNT(old) == 0 -> DONE; AGAIN
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: ring[now % N] == old ->
			ring[now % N] = old - ONE_OF_ENTRY;
			if
			:: tag == gen && WORD_GEN(word) == gen && !(word & DEAD) ->
				admitted[now]--;
				lowered = EPOCH(word)
			:: else
			fi;
			old = 0;
			check()
		:: else -> DONE; AGAIN
		fi
	}
	atomic { /* and then in the sum, unless it is killed: at once, if the word is what it was before, */
		STEP;
		if
#ifdef SUM_SUBTRACTS
		:: WORD_GEN(word) == gen && !(word & DEAD) && SUM(word) > 0 ->
			word = word - ONE_OF_SUM;
#else
		:: word == seen && SUM(seen) > 0 ->
			word = seen - ONE_OF_SUM;
#endif
			check();
			DONE;
			AGAIN
		:: else
		fi
	}
sum_up: /* and else by what the ring has */
	atomic {
		STEP;
		k = 0; used = 0; old = 0;
		seen = word;
		if
		:: WORD_GEN(seen) != gen || (seen & DEAD) -> DONE; AGAIN
		:: else
		fi
	}
sum_more:
	atomic {
		STEP;
		if
		:: k < SPAN(seen) ->
			old = ring[(EPOCH(seen) - (k + 1)) % N];
			if
			:: k + 1 + JUMP(seen) <= N &&
			   old == ENTRY(EPOCH(seen) - (k + 1), ENTRY_COUNT(old), gen) ->
				used = used + ENTRY_COUNT(old)
			:: else
			fi;
			old = 0;
			k++;
			goto sum_more
		:: else -> k = 0
		fi
	}
	atomic {
		STEP;
		if
#ifdef SUM_BLINDLY
		:: WORD_GEN(word) == gen && !(word & DEAD) && used < SUM(word) ->
			word = WITH_SUM(word, used);
			check()
#else
		:: word == seen && used < SUM(seen) ->
			word = WITH_SUM(seen, used);
			check()
#endif
		:: word != seen -> goto sum_up
		:: else
		fi;
		DONE;
		AGAIN
	}
#endif

finish:
	atomic {
		STEP;
		if
		:: tag == gen -> tag++; check()
		:: else
		fi;
		AGAIN
	}
end:
	skip
}

#if RETIRERS > 0
proctype retirer() ALIVE
{
	int seen;
	byte gen;

again:
	atomic {
		STEP;
		seen = 0;
		gen = tag;
		if
		:: gen == GENS -> goto end
		:: else
		fi
	}
	atomic {
		STEP;
		seen = word;
		if
		:: WORD_GEN(seen) == gen && (seen & DEAD) -> goto finish
		:: WORD_GEN(seen) == gen && !(seen & DEAD) -> goto kill
		:: else
		fi
	}
	atomic {
		STEP;
		if
		:: tag != gen -> goto again
		:: else
		fi
	}
kill:
	atomic {
		STEP;
		if
		:: word == seen ->
			assert(tag == gen);
			word = WITH_GEN(seen, gen) | DEAD;
#ifdef SHARES
			lent = 0; /* of the next one; the old one's lapses by itself */
			left = 0;
#endif
#ifdef LATE
			lowered = 0;
#endif
			d_step {
				x = 0;
				do
				:: x <= T -> admitted[x] = 0; x++
				:: else -> break
				od;
				x = 0
			}
			check()
		:: else -> goto again
		fi
	}
finish:
	atomic {
		STEP;
		if
		:: tag == gen -> tag++; check()
		:: else
		fi;
		DONE;
		goto again
	}
end:
	skip
}
#endif

#ifdef SHARES
/*
 * The only one that lends. Each step may be its last: another begins at `again`, and knows nothing but the words.
 */
proctype lender() ALIVE
{
	int seen, next;
	byte gen, share;

again:
	atomic {
		seen = 0; next = 0; share = 0;
		gen = tag
	}
	atomic {
		seen = word;
		if
		:: WORD_GEN(seen) == gen && (seen & DEAD) -> goto again
		:: WORD_GEN(seen) != gen ->
			if
			:: tag != gen -> goto again
			:: else -> goto grant
			fi
		:: WORD_GEN(seen) == gen && !(seen & DEAD) -> goto grant
		:: WORD_GEN(seen) == gen && !(seen & DEAD) && SHARE(seen) > 0 -> goto lower
		:: WORD_GEN(seen) == gen && !(seen & DEAD) && SHARE(seen) < lent -> goto give_back
		fi
	}
grant:
	atomic { /* the store has, to this incarnation, if it is there still */
		if
		:: tag == gen && !((word & DEAD) && WORD_GEN(word) == gen) -> lent = SHARES
		:: else
		fi
	}
	atomic { /* what was never charged counts nothing from now on, and has the share */
		if
		:: WORD_GEN(seen) == gen -> next = WITH_SHARE(seen, SHARES)
		:: else -> next = WITH_SHARE(WORD(0, 0, 0, 0, 0, gen), SHARES)
		fi;
		goto swap
	}
lower:
	atomic {
		do
		:: share < SHARE(seen) - 1 -> share++
		:: break
		od;
#ifndef BELOW_LOAD
		if
		:: share < CUR(seen) + SUM(seen) -> share = CUR(seen) + SUM(seen)
		:: share < CUR(seen) + SUM(seen) && EPOCH(seen) + JUMP(seen) + N < T ->
			left = (word == seen -> 1 : left) /* by its clock nothing counts */
		:: share >= CUR(seen) + SUM(seen)
		fi;
#endif
		if
		:: share >= SHARE(seen) -> goto again
		:: else
		fi;
		next = WITH_SHARE(seen, share);
#ifdef SEND_BEFORE_LOWER
		if
		:: tag == gen -> lent = share; check()
		:: else
		fi
#endif
	}
swap:
	atomic {
		if
#ifdef LEND_WITHOUT_CAS
		:: true ->
#else
		:: word == seen ->
#endif
			word = next;
			check()
		:: else
		fi;
		goto again
	}
give_back:
	atomic { /* it asks for no less than the word says, as that is when it asks */
		if
		:: tag == gen && WORD_GEN(word) == gen && !(word & DEAD) ->
			if
#ifndef ASK_WITHOUT_LOAD
			:: SHARE(word) < CUR(word) + SUM(word) && !left ->
				lent = MIN(lent, CUR(word) + SUM(word))
			:: else -> lent = SHARE(word)
#else
			:: true -> lent = SHARE(word)
#endif
			fi;
			check()
		:: else
		fi;
		goto again
	}
}
#endif

init {
	byte n;

	atomic {
#ifdef SHARES
		run lender();
#endif
		do
		:: n < WORKERS -> run worker(); n++
#if RETIRERS > 0
		:: n >= WORKERS && n < WORKERS + RETIRERS -> run retirer(); n++
#endif
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
