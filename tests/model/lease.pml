/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lease of all shares of a segment is one word, `until`: a worker uses a share while its clock is before it. Each
 * share has a lease of its own at the store; who lends keeps `until` from passing the end of any of them, and
 * does not know these ends after a restart. One slot, one worker, one lender that may be killed anywhere.
 *
 *	worker   load the word, then until, CAS of the word
 *	lender   ask; read the answer and set the word; or end what is over by then, and then move `until` on
 *
 * What holds: a share is used only before the end of its lease. (Who sleeps between his clock and his CAS is in
 * share.pml.)
 */

#ifndef T
#define T 5
#endif
#define LEASE 2

byte now, until;
byte share, version; /* the word: whether there is a share, and any change of it */
byte lease;          /* when the store's ends */

proctype worker()
{
	byte clock, seen_share, seen_version, seen_until;

again:
	atomic { clock = now }
	atomic { seen_share = share; seen_version = version }
	atomic { seen_until = until }
	atomic {
		if
		:: seen_share > 0 && clock < seen_until && version == seen_version && clock == now ->
			assert(now < lease);
			version = (version + 1) % 4
		:: else
		fi;
		clock = 0; seen_share = 0; seen_version = 0; seen_until = 0;
		goto again
	}
}

#define CHANGE(to) share = to; version = (version + 1) % 4

proctype lender()
{
	byte known, sent_at, to; /* known: the end of the share's lease, 0 not known */
	bit is_asking;

again:
	atomic {
		to = 0;
		if
		:: known = 0; is_asking = 0; sent_at = 0 /* killed: the next one knows nothing */
		:: skip
		fi
	}
	if
	:: atomic { /* the store grants or renews it */
		!is_asking ->
		is_asking = 1;
		sent_at = now;
		lease = (lease < now + LEASE -> now + LEASE : lease);
		goto again
	}
	:: atomic { /* the answer */
		is_asking ->
		is_asking = 0;
		if
#ifdef ANSWER_TOO_LATE
		:: true ->
#else
		:: sent_at + LEASE >= until ->
#endif
			if
			:: share == 0 -> CHANGE(1)
			:: else
			fi;
			known = sent_at + LEASE
		:: else
		fi;
		sent_at = 0;
		goto again
	}
	:: goto advance
	fi;
advance:
	atomic {
		to = now + 1;
		if
		:: to++
		:: skip
		fi;
#ifdef ADVANCE_FIRST
		until = (to > until -> to : until)
	}
	atomic {
#endif
		if
#ifdef TRUSTS_AFTER_RESTART
		:: share > 0 && known > 0 && known < to -> CHANGE(0); known = 0
#else
		:: share > 0 && known < to -> CHANGE(0); known = 0
#endif
		:: else
		fi
	}
#ifndef ADVANCE_FIRST
	atomic { until = (to > until -> to : until) }
#endif
	goto again
}

init {
	atomic {
		run worker();
		run lender()
	}
	do
	:: atomic { now < T -> now++ }
	od
}
