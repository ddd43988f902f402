/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_COUNTERS_H
#define RL_COUNTERS_H

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Counters by key, for programs that count and decide for themselves. Each counter has a lifetime
 * that begins with its first increment. Counters live in a space, which has a name as a rule has,
 * and share the segment's table with the keys of all rules.
 *
 *	int failed = rl_define_counters(rl, "failed-logins");
 *	struct rl_count count;
 *	struct rl_counter_item item = {.space = failed, .key = ip, .key_len = strlen(ip),
 *		.amount = 1, .lifetime_ns = 600 * RL_SECOND};
 *	if (rl_counter_apply(rl, RL_COUNTER_ADD, &item, &count) == 1 &&
 *	    count.value > 5)
 *		refuse_for(count.expires_after_ns);
 *
 * What holds
 *
 * - The calls on one key have one order for all processes. An increment is counted once; a call
 *   that returns an error has counted nothing. A process that is killed leaves nothing half done.
 * - A counter that is alive is never evicted, whatever `on_full` says. A counter that finds no slot
 *   is not counted: -ENOSPC.
 * - A counter lives for its lifetime, rounded up to a millisecond, whatever is added to it. After
 *   that it is as if it was never there, and its slot is freed after the segment's buffer, or for a
 *   key that needs it.
 *
 * Bans and overrides do not apply to counters. rl_check() of a space is RL_UNDECIDED with -EINVAL.
 * rl_reset() and the calls of rl_admin.h take the handle of a space as they take a rule's.
 */
#define RL_COUNT_MAX ((UINT64_C(1) << 48) - 1)

struct rl_count {
	uint64_t value;            /* 0 .. RL_COUNT_MAX; 0 if there is none */
	uint64_t expires_after_ns; /* RL_NEVER_NS: never; 0 if there is none */
	int is_new;                /* made by this call */
	unsigned reserved;
};

/*
 * Return the handle of the space of that name, and make the space if it is not there. rl_find()
 * finds it and rl_forget() forgets it. Errors are those of rl_define(), and -EEXIST: the name is a
 * rule's. (rl_define() says the same of a name that is a space's.) A rule of the configuration with
 * that name takes the place of the space: while it is there, calls return -EINVAL, and afterwards
 * the counters of the space start anew.
 */
int rl_define_counters(struct rl *rl, const char *name);

/* What is done with a counter. */
enum rl_counter_op {
	RL_COUNTER_GET = 0,
	RL_COUNTER_ADD = 1,
	RL_COUNTER_SET = 2,
	RL_COUNTER_SET_NEW = 3,
	RL_COUNTER_TOUCH = 4,
	RL_COUNTER_DROP = 5,
};

struct rl_counter_item {
	int space; /* of rl_define_counters() */
	const void *key;
	size_t key_len;
	int64_t amount;       /* ADD: is added, and may be negative; SET, SET_NEW: the value */
	uint64_t lifetime_ns; /* RL_NEVER_NS: without an end */
	uint64_t now_ns;      /* when, on rl_now()'s scale; 0: now */
	uint64_t reserved[2]; /* 0 */
};

/*
 * GET looks: 1, or 0 there is none. Only this works on a read-only handle.
 *
 * ADD adds `amount`. The value stops at 0 and at RL_COUNT_MAX. A counter that is not there is made
 * if amount > 0, and lives for `lifetime_ns` from now. A counter that is there keeps its lifetime.
 * A lifetime of 0 makes no counter. 1 added, 0 there is none.
 *
 * SET sets the value, and a lifetime that begins now. With a lifetime of 0 a counter that is there
 * keeps its own. 1 set, 0 there is none and none is made.
 *
 * SET_NEW sets only if there is no counter: 1 set, 0 there is one, and *count has it.
 *
 * TOUCH lets a counter that is there live for `lifetime_ns` from now, shorter or longer than
 * before, whatever its value: 1, or 0 there is none and none is made.
 *
 * DROP removes the counter: 1 dropped, 0 there was none.
 *
 * *count, if not NULL, is the counter as the call left it; after an error, do not read it. Errors:
 * -EINVAL it is no space, the value is negative or above RL_COUNT_MAX, the lifetime ends after 15
 * May 2109, or is 0 for SET_NEW or TOUCH; RL_EEMPTY; -ENAMETOOLONG; RL_EREMOVED; -ENOSPC; -EBUSY;
 * -ENOMEM; -EROFS.
 */
int rl_counter_apply(struct rl *rl, enum rl_counter_op op, const struct rl_counter_item *item,
                     struct rl_count *count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
