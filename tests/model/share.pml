/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capacity that a store lends to hosts over a network, as docs/PROTOCOL.md has it in "A limit of many hosts". One key;
 * a host's word, its share and what it counts, is changed by one CAS16 at a time (ring.pml), so it is one here.
 *
 *	HOSTS     identities: a host, or in a table that evicts an incarnation of its slot
 *	CAP       the capacity
 *	BLIND     what each host admits beside its share
 *	ASKS      requests that each sends, at most
 *	WINDOW    ticks that an admission counts
 *	LEASE     ticks that a share may be used after its request was sent, LEASE0 of host 0
 *	HOLD      ticks that the store holds it beyond that
 *	T         ticks
 *
 * Network. Every request that was ever sent may arrive at any time, any number of times, or never. Of the newest one
 * any answer that it was given may be read. Whoever is killed takes no further step.
 *
 * Clocks. Ticks are of the same length for all; what a host and the store call them does not matter, for only
 * durations are compared.
 *
 * What holds in every state: the hosts' loads together are at most CAP + HOSTS * BLIND (+ EXTRA).
 *
 *	ENDS            a lease that is over ends the share at once, whatever the load
 *	LIMIT_CHANGES   the capacity falls by one, and comes back
 *	LOSES           the store falls back once to what a replica has; each grant and renewal of what was
 *	                lost adds to what may be admitted
 *	WAITS           an answer is one once the replica has it
 *	SLEEPER         a worker may decide, sleep, and charge if the word is the same: one request a host more
 */

#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef BLIND
#define BLIND 0
#endif
#ifndef ASKS
#define ASKS 2
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LEASE
#define LEASE 1
#endif
#ifndef LEASE0
#define LEASE0 LEASE
#endif
#ifndef HOLD
#define HOLD WINDOW
#endif
#ifndef T
#define T 3
#endif
#ifdef SLEEPER
#ifdef NO_SLACK
#define SLACK 0
#else
#define SLACK HOSTS
#endif
#define WORD_CHANGED(a) asleep[a] = 0
#else
#define SLACK 0
#define WORD_CHANGED(a) skip
#endif

typedef host {
	byte share;            /* in its word, */
	byte counted[WINDOW];  /* and what that counts, by age */
	byte until;            /* of its lease */
	byte newest;           /* request; 0 none */
	byte sent_at;
	byte answers;          /* to the newest: a bit for each share */
	byte held_back;        /* answers that the replica has not */
	byte wants[ASKS + 1];  /* by request */
	byte lower_to;         /* SEND_BEFORE_LOWER: and 1 */
	byte stale;            /* ACCEPT_OLD: answers to older requests */
}

typedef field {
	byte share;
	byte seq; /* 0: there is none */
	byte expires;
}

host h[HOSTS];
field s[HOSTS];
byte now, ttl, extra, limit = CAP, changes;
#ifdef LOSES
field replica[HOSTS];
byte replica_ttl;
bit has_failed;
#endif
#ifdef SLEEPER
bit asleep[HOSTS];
#endif
#ifdef SAME_FIELD
byte left_behind[WINDOW];
bit is_evicted;
#endif

hidden byte i, j, x, total, others, grant;

#define LEASE_OF(a) ((a) == 0 -> LEASE0 : LEASE)
#define WORTH(a) ((now < h[a].until -> h[a].share : 0) + BLIND)

#define ANY_HOST(a) a = 0; do :: a < HOSTS - 1 -> a++ :: break od

inline load(a)
{
	j = 0; x = 0;
	do
	:: j < WINDOW -> x = x + h[a].counted[j]; j++
	:: else -> break
	od;
	j = 0
}

inline check()
{
	d_step {
		i = 0; total = 0;
		do
		:: i < HOSTS -> load(i); total = total + x; i++
		:: else -> break
		od;
#ifdef SAME_FIELD
		j = 0;
		do
		:: j < WINDOW -> total = total + left_behind[j]; j++
		:: else -> break
		od;
		total = total - is_evicted * BLIND;
#endif
		assert(total <= CAP + HOSTS * BLIND + extra + SLACK);
		i = 0; j = 0; x = 0; total = 0
	}
}

inline forget(a)
{
	s[a].share = 0; s[a].seq = 0; s[a].expires = 0
}

/* The store takes request q of host a: the script. */
inline take(a, q)
{
	d_step {
		i = 0;
		do
		:: i < HOSTS ->
			if
			:: now >= ttl || (s[i].seq > 0 && s[i].expires <= now && i != a) -> forget(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0; others = 0;
		do
		:: i < HOSTS -> others = others + (i == a -> 0 : s[i].share); i++
		:: else -> break
		od;
		if
#ifdef NO_SEQ
		:: true ->
#else
		:: q > s[a].seq ->
#endif
			grant = (limit > others -> limit - others : 0);
			grant = (h[a].wants[q] < grant -> h[a].wants[q] : grant);
#ifdef GRANT_USED
			load(a);
			grant = (grant > x -> grant : x);
#endif
#ifndef TAKE_AWAY
			/* no less than it had, unless it asks for less */
			x = (h[a].wants[q] < s[a].share -> h[a].wants[q] : s[a].share);
			grant = (grant > x -> grant : x);
#endif
			s[a].share = grant;
			s[a].seq = q;
			s[a].expires = now + LEASE_OF(a) + HOLD;
#ifdef TTL_LAST
			ttl = s[a].expires
#else
			ttl = (ttl > s[a].expires -> ttl : s[a].expires)
#endif
		:: else
		fi;
		if
#ifdef WAITS
		:: q == h[a].newest -> h[a].held_back = h[a].held_back | 1 << s[a].share
#else
		:: q == h[a].newest -> h[a].answers = h[a].answers | 1 << s[a].share
#endif
#ifdef ACCEPT_OLD
		:: q != h[a].newest -> h[a].stale = h[a].stale | 1 << s[a].share
#endif
		:: else
		fi;
		i = 0; x = 0; others = 0; grant = 0
	}
}

/* What a new request asks for, at least: what the word has, and what it counts. */
inline least(a)
{
#ifdef ASK_WITHOUT_LOAD
	x = h[a].share
#else
	load(a);
	x = (h[a].share > x -> h[a].share : x);
	x = (x > CAP -> CAP : x)
#endif
}

active proctype world()
{
	byte a, q, v;

	do
	:: atomic { /* a worker */
		ANY_HOST(a);
		load(a);
		if
		:: x + 1 <= WORTH(a) -> h[a].counted[0]++; WORD_CHANGED(a)
		:: else
		fi;
		x = 0;
		check();
		a = 0
	}
	:: atomic { /* rl_share_lower() */
		ANY_HOST(a);
		if
		:: h[a].share > 0 && h[a].lower_to == 0 ->
			do
			:: v < h[a].share - 1 -> v++
			:: break
			od;
			load(a);
#ifndef BELOW_LOAD
			v = (v < x -> x : v);
#endif
			if
			:: v < h[a].share -> h[a].share = v; WORD_CHANGED(a)
			:: else
			fi
		:: else
		fi;
		a = 0; v = 0; x = 0
	}
#ifdef ENDS
	:: atomic { /* rl_share_end() */
		ANY_HOST(a);
		if
		:: now >= h[a].until && h[a].share > 0 -> h[a].share = 0; WORD_CHANGED(a)
		:: else
		fi;
		a = 0
	}
#endif
	:: atomic { /* a request */
		ANY_HOST(a);
		if
		:: h[a].newest < ASKS && h[a].lower_to == 0 ->
			least(a);
#ifdef SEND_BEFORE_LOWER
			load(a);
#endif
			v = x;
			do
			:: v < CAP -> v++
			:: break
			od;
#ifdef ACCEPT_OLD
			h[a].stale = h[a].stale | h[a].answers;
#endif
			h[a].newest++;
			h[a].sent_at = now;
			h[a].wants[h[a].newest] = v;
			h[a].answers = 0;
			h[a].held_back = 0;
#ifdef SEND_BEFORE_LOWER
			h[a].lower_to = (v < h[a].share -> v + 1 : 0);
#endif
		:: else
		fi;
		a = 0; v = 0; x = 0
	}
#ifdef SEND_BEFORE_LOWER
	:: atomic {
		ANY_HOST(a);
		if
		:: h[a].lower_to > 0 ->
			load(a);
			v = h[a].lower_to - 1;
			h[a].share = (v < x -> x : v);
			h[a].lower_to = 0
		:: else
		fi;
		a = 0; v = 0; x = 0
	}
#endif
	:: atomic { /* one that was sent arrives */
		ANY_HOST(a);
		if
		:: h[a].newest > 0 ->
			q = 1;
			do
			:: q < h[a].newest -> q++
			:: break
			od;
			take(a, q)
		:: else
		fi;
		a = 0; q = 0
	}
	:: atomic { /* an answer is read: rl_share_set() */
		ANY_HOST(a);
		x = h[a].answers;
#ifdef ACCEPT_OLD
		x = x | h[a].stale;
#endif
		if
		:: x != 0 && h[a].lower_to == 0 ->
			do
			:: v < CAP && x >> v + 1 != 0 -> v++
			:: break
			od;
			if
			:: x & 1 << v ->
				if
				:: h[a].share != v -> WORD_CHANGED(a)
				:: else
				fi;
				h[a].share = v;
#ifdef LEASE_FROM_ANSWER
				h[a].until = now + LEASE_OF(a)
#else
				h[a].until = h[a].sent_at + LEASE_OF(a)
#endif
			:: else
			fi
		:: else
		fi;
		a = 0; v = 0; x = 0
	}
#ifdef RAISE_EARLY
	:: atomic { /* before the answer */
		ANY_HOST(a);
		if
		:: h[a].newest > 0 && h[a].wants[h[a].newest] > h[a].share ->
			h[a].share = h[a].wants[h[a].newest];
			h[a].until = h[a].sent_at + LEASE_OF(a)
		:: else
		fi;
		a = 0
	}
#endif
#ifdef SEQ_RESTARTS
	:: atomic { /* a new one takes the answer to an old number for that to its own */
		ANY_HOST(a);
		if
		:: h[a].newest >= 2 && h[a].share <= h[a].wants[1] && s[a].seq > 0 ->
			h[a].answers = 1 << s[a].share;
			h[a].sent_at = now
		:: else
		fi;
		a = 0
	}
#endif
#ifdef SAME_FIELD
	:: d_step { /* the slot is another incarnation's, under the same name */
		!is_evicted ->
		is_evicted = 1;
		j = 0;
		do
		:: j < WINDOW -> left_behind[j] = h[0].counted[j]; h[0].counted[j] = 0; j++
		:: else -> break
		od;
		j = 0;
		h[0].share = 0
	}
#endif
#ifdef SLEEPER
	:: atomic {
		ANY_HOST(a);
		load(a);
		if
		:: x + 1 <= WORTH(a) -> asleep[a] = 1
		:: else
		fi;
		a = 0; x = 0
	}
	:: atomic {
		ANY_HOST(a);
		if
		:: asleep[a] -> asleep[a] = 0; h[a].counted[0]++; check()
		:: else
		fi;
		a = 0
	}
#endif
	:: d_step { /* time */
		now < T ->
		now++;
		i = 0;
		do
		:: i < HOSTS ->
			j = WINDOW - 1;
			do
			:: j > 0 -> h[i].counted[j] = h[i].counted[j - 1]; j--
			:: else -> break
			od;
			h[i].counted[0] = 0;
			i++
		:: else -> break
		od;
#ifdef SAME_FIELD
		j = WINDOW - 1;
		do
		:: j > 0 -> left_behind[j] = left_behind[j - 1]; j--
		:: else -> break
		od;
		left_behind[0] = 0;
#endif
		i = 0; j = 0
	}
#ifdef LIMIT_CHANGES
	:: d_step {
		changes < 2 ->
		changes++;
		limit = (limit == CAP -> CAP - 1 : CAP)
	}
#endif
#ifdef LOSES
	:: d_step { /* the replica catches up */
		!has_failed ->
		i = 0;
		do
		:: i < HOSTS ->
			replica[i].share = s[i].share;
			replica[i].seq = s[i].seq;
			replica[i].expires = s[i].expires;
			h[i].answers = h[i].answers | h[i].held_back;
			h[i].held_back = 0;
			i++
		:: else -> break
		od;
		i = 0;
		replica_ttl = ttl
	}
	:: d_step { /* and takes over */
		!has_failed ->
		has_failed = 1;
		i = 0;
		do
		:: i < HOSTS ->
#ifndef WAITS
			if
#ifndef GRANTS_ONLY
			:: s[i].expires > replica[i].expires -> extra = extra + s[i].share
#endif
			:: else -> extra = extra + (s[i].share > replica[i].share -> s[i].share - replica[i].share : 0)
			fi;
#endif
			s[i].share = replica[i].share;
			s[i].seq = replica[i].seq;
			s[i].expires = replica[i].expires;
			replica[i].share = 0; replica[i].seq = 0; replica[i].expires = 0;
			h[i].held_back = 0;
			i++
		:: else -> break
		od;
		i = 0;
		ttl = replica_ttl;
		replica_ttl = 0;
#ifdef NO_EXTRA
		extra = 0
#endif
	}
#endif
	od
}
