/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_SEGMENT_H
#define RLB_SEGMENT_H

/*
 * A segment as a process of a language has it open, for as long as it runs, and the rules in it.
 *
 * The name may get another segment meanwhile, as by rlctl unlink, or after somebody has removed the
 * file. A worker that kept the old one would count alone. So it looks once a second, by one stat(2)
 * in a call that was made anyway, and changes over: `epoch` moves, and each rule is defined or
 * found anew at its next use. Where the new one cannot be opened the old one stays, and `trouble`
 * says why.
 *
 * One thread at a time.
 */

#include <rl_admin.h>
#include <sys/stat.h>

struct rlb_segment {
	struct rl *rl; /* NULL: closed, or not there yet */
	uint32_t epoch;
	char name[RL_NAME_MAX + 1];
	struct rl_options options;
	char path[RL_PATH_MAX];
	dev_t dev;
	ino_t ino;
	uint64_t look_ns; /* when to look again; RL_NEVER_NS: never */
	uint32_t ring;    /* as rl_info() tells it */
	int trouble;      /* 0, or why the segment that has the name now could not be opened */
};

/* 0, or what rl_open() or rl_open_private() returns. `name` may be NULL, and is copied. */
int rlb_open(struct rlb_segment *s, const char *name, const struct rl_options *options);
int rlb_open_private(struct rlb_segment *s, const struct rl_options *options);

/*
 * For who goes on without a segment that is not there yet: rlb_open(), and what keeps it from being
 * opened is `trouble`. Each look tries again. 0, or -EINVAL.
 */
int rlb_open_later(struct rlb_segment *s, const char *name, const struct rl_options *options);
void rlb_close(struct rlb_segment *s);

/*
 * Does its name lead to it still? A private one has none, and is current. For who changes over in
 * another way than rlb_look().
 */
int rlb_is_current(const struct rlb_segment *s);

/* Change over if the name has another segment: 1 done, 0 it has not, or a negative error. */
int rlb_look(struct rlb_segment *s);

/* Now, and a look if it is time for one. The segment is open. */
static inline uint64_t
rlb_now(struct rlb_segment *s)
{
	uint64_t now_ns = rl_now(s->rl);

	if (__builtin_expect(now_ns >= s->look_ns, 0)) {
		rlb_look(s);
		now_ns = rl_now(s->rl);
	}
	return now_ns;
}

enum rlb_rule_kind {
	RLB_FOUND,   /* somebody else's: limits of the configuration or of another program */
	RLB_DEFINED, /* by `rule` */
	RLB_SPACE,   /* of counters */
};

/* A rule or a space of counters, as this process uses it. */
struct rlb_rule {
	enum rlb_rule_kind kind;
	int id;         /* the handle in the segment of `epoch`, or a negative error */
	uint32_t epoch; /* of the segment that `id` is of */
	char name[RL_NAME_MAX + 1];
	struct rl_rule rule; /* its name and `more` point into this structure, which is not
	                        copied */
	struct rl_limit more[RL_LIMITS_MAX]; /* one more than is allowed: librl says so */
};

/* The segment, after a look if it is time for one. NULL: it is closed, or not there yet. */
static inline struct rl *
rlb_ready(struct rlb_segment *s)
{
	if (__builtin_expect(!s->rl || rl_now(s->rl) >= s->look_ns, 0))
		rlb_look(s);
	return s->rl;
}

/* Find or define the rule. Its handle, or the error; -EBADF: the segment is closed. */
int rlb_rule_renew(struct rlb_segment *s, struct rlb_rule *r);

/* The handle in the segment that is open now. */
static inline int
rlb_rule_id(struct rlb_segment *s, struct rlb_rule *r)
{
	if (__builtin_expect(r->epoch != s->epoch || r->id < 0, 0))
		return rlb_rule_renew(s, r);
	return r->id;
}

/*
 * Find or define the rule anew, if it is there: 1. Else the old handle stays, and librl says what
 * it is.
 */
int rlb_rule_again(struct rlb_segment *s, struct rlb_rule *r);

/*
 * rl_check_item() under the rule. A rule that is gone is looked for, and defined anew if it was
 * defined by this process: who asks wants its limits. item->rule is filled in.
 */
void rlb_check(struct rlb_segment *s, struct rlb_rule *r, struct rl_item *item,
               struct rl_result *result);

/* The same for rl_decide(). */
void rlb_decide(struct rlb_segment *s, struct rlb_rule *r, struct rl_item *item, enum rl_how how,
                uint64_t max_wait_ns, struct rl_result *result);

/* A result whose verdict is undecided for this error. */
void rlb_undecided(struct rl_result *result, int error);

#endif
