/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wishes for a share (rld/cluster/policy.c, script_take): two hosts, a store, callers that wait. None waits for ever for
 * what is free: a run without an end is what is searched for, under weak fairness.
 *
 *	caller   is admitted once used + cost <= share; goes away once what all hosts have used leaves no room for it
 *	host     asks whenever no question is open: what it wants, and the least that helps its caller
 *	store    lends all of what is wanted, or all that is free if that is enough; else nothing, and notes who starves:
 *	         the other is told so by its next answer, and called at once
 *	lost     a question, an answer or a call, LOSSES of them; and in LOTS draws hosts may draw the same lot
 *
 * What is free: capacity - what hosts have used. A host that lacks nothing asks again for ever, as it does to renew.
 */

#ifndef C
#define C 3
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef LOTS
#define LOTS 1
#endif
#define OTHER (1 - h)
#define FREE (C - used[0] - used[1])
#define LEAST(a, b) ((a) < (b) -> (a) : (b))
#define MOST(a, b) ((a) > (b) -> (a) : (b))

byte used[2], cost[2]; /* cost: what the caller of this host needs, 0 none */
byte share[2], lent[2]; /* as the host knows it, and as the store does */
byte starver = 2;       /* 2: none */
byte want[2], need[2], grant[2];
bit is_asked[2], is_short[2], is_answered[2], is_told[2], others[2], is_called[2], is_open[2], lot[2];
byte fair[2] = C;
byte losses = LOSSES, lots = LOTS;

#define LOSE(otherwise) if :: losses > 0 -> losses-- :: otherwise fi

inline try()
{
	if
	:: cost[h] > 0 && used[h] + cost[h] <= share[h] ->
		used[h] = used[h] + cost[h];
		cost[h] = 0
	:: cost[h] > FREE -> cost[h] = 0
	:: else
	fi
}

/* Two that each need more than a fair part would wait for each other: by lot, one gives way. */
#ifdef NO_LOT
#define GIVES_WAY false
#else
#define GIVES_WAY (lot[h] && need[h] > MOST(fair[h], share[h]) && share[h] > used[h])
#endif
#ifdef SHORT_OF_ONE
#define IS_SHORT (cost[h] > 0 && used[h] + 1 > share[h])
#else
#define IS_SHORT (cost[h] > 0)
#endif

inline judge()
{
	is_short[h] = IS_SHORT;
	others[h] = others[h] || is_called[h];
	is_called[h] = 0;
	need[h] = LEAST(used[h] + (IS_SHORT -> cost[h] : 1), C);
	if
	:: is_short[h] && others[h] && GIVES_WAY -> want[h] = used[h]
	:: is_short[h] && !(others[h] && GIVES_WAY) ->
		want[h] = need[h];
		if
		:: !others[h] && need[h] < C -> want[h]++
		:: skip
		fi
#ifdef IDLE_KEEPS
	:: !is_short[h] -> want[h] = MOST(share[h], used[h])
#else
	:: !is_short[h] && others[h] -> want[h] = used[h]
	:: !is_short[h] && !others[h] -> /* it keeps what it has, gives it back, or takes all there is */
		if
		:: want[h] = MOST(share[h], used[h])
		:: want[h] = used[h]
		:: want[h] = C
		fi
#endif
	fi
}

inline draw()
{
	if
	:: lots > 0 -> lots--; if :: lot[h] = 0 :: lot[h] = 1 fi
	:: lot[h] = h
	fi
}

inline ask()
{
	share[h] = LEAST(share[h], want[h]);
	is_open[h] = 1;
	draw();
	LOSE(is_asked[h] = 1)
}

proctype host(bit h)
{
	do
	:: atomic { cost[0] + cost[1] == 0 -> break }
	:: atomic { cost[0] + cost[1] > 0 && !is_open[h] ->
		try();
		judge();
		ask()
	}
	:: atomic { is_answered[h] ->
		is_answered[h] = 0;
		is_open[h] = 0;
		share[h] = grant[h];
		others[h] = is_told[h];
		try()
	}
	:: atomic { is_open[h] && !is_asked[h] && !is_answered[h] -> is_open[h] = 0 } /* lost */
	od
}

inline lend()
{
	free = C - lent[OTHER];
	g = want[h];
	if
	:: want[h] > free ->
#ifdef PARTS
		g = free;
#else
		g = (need[h] > free -> LEAST(want[h], lent[h]) : free);
#endif
		lacks = is_short[h] || need[h] > free
	:: else
	fi;
	lent[h] = MOST(g, LEAST(want[h], lent[h]));
	if
	:: lacks ->
		starver = h;
#ifndef NO_CALLS
		if
		:: is_short[h] && lent[OTHER] > 0 -> LOSE(is_called[OTHER] = 1)
		:: else
		fi
#endif
	:: !lacks && starver == h && cost[h] == 0 -> starver = 2
	:: else
	fi
}

/* One for each host: each question is answered some time. */
proctype store(bit h)
{
	byte free, g;
	bit lacks;

end:	do
	:: atomic { is_asked[h] ->
		is_asked[h] = 0;
		lend();
		grant[h] = lent[h];
		fair[h] = (lent[0] > 0 && lent[1] > 0 -> C / 2 : C);
#ifdef NOBODY_IS_TOLD
		is_told[h] = 0;
#else
		is_told[h] = starver != 2 && starver != h;
#endif
		LOSE(is_answered[h] = 1);
		free = 0; g = 0; lacks = 0
	}
	od
}

inline begin(h)
{
	do
	:: lent[h] + lent[OTHER] < C -> lent[h]++
	:: break
	od;
	do
	:: used[h] < lent[h] -> used[h]++
	:: break
	od;
	share[h] = lent[h];
}

inline come(h)
{
	do
	:: cost[h] < FREE -> cost[h]++
	:: break
	od
}

init {
	atomic {
		begin(0);
		begin(1);
		come(0);
#ifndef ONE_CALLER
		come(1);
#endif
		run host(0);
		run host(1);
		run store(0);
		run store(1)
	}
}
