/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define TRIES 4
#define LOOK_NS RL_SECOND

/* The file that has the name now; 0, or -ENOENT. */
static int
see(const char *path, struct stat *st)
{
	return stat(path, st) == 0 ? 0 : -ENOENT;
}

static int
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void
take(struct rlb_segment *s, struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	s->rl = rl;
	s->ring = info.ring;
}

/*
 * No call tells the file of a handle: so the name has the same file before and after, which an
 * attempt that has created the segment finds at the next.
 */
static int
open_known(const struct rlb_segment *s, struct rl **to, struct stat *file)
{
	struct stat before;
	struct rl *rl = NULL;

	*file = (struct stat){0};
	for (int i = 0; i < TRIES; i++) {
		int was = see(s->path, &before), error;

		rl_close(rl);
		error = rl_open(s->name, &s->options, &rl);
		if (error < 0)
			return error;
		if (see(s->path, file) == 0 && was == 0 && is_same(&before, file))
			break;
	}
	*to = rl;
	return 0;
}

static uint64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* The directory of the file may come later, too. */
static int
attach(struct rlb_segment *s)
{
	struct rl_place place;
	struct stat file;
	struct rl *rl;
	int error = rl_place(s->name, &s->options, &place);

	if (error < 0)
		return error;
	memcpy(s->path, place.path, sizeof s->path);
	error = open_known(s, &rl, &file);
	if (error < 0)
		return error;
	take(s, rl);
	s->dev = file.st_dev;
	s->ino = file.st_ino;
	s->look_ns = rl_now(rl) + LOOK_NS;
	return 0;
}

int
rlb_open(struct rlb_segment *s, const char *name, const struct rl_options *options)
{
	static const struct rl_options defaults;

	*s = (struct rlb_segment){.options = options ? *options : defaults};
	name = name ? name : "default";
	if (strlen(name) > RL_NAME_MAX)
		return -EINVAL;
	strcpy(s->name, name);
	return attach(s);
}

int
rlb_open_later(struct rlb_segment *s, const char *name, const struct rl_options *options)
{
	int error = rlb_open(s, name, options);

	if (error == -EINVAL)
		return error;
	s->trouble = error;
	if (error < 0)
		s->look_ns = monotonic_ns() + LOOK_NS;
	return 0;
}

int
rlb_open_private(struct rlb_segment *s, const struct rl_options *options)
{
	struct rl *rl;
	int error = rl_open_private(options, &rl);

	*s = (struct rlb_segment){.look_ns = RL_NEVER_NS};
	if (error == 0)
		take(s, rl);
	return error;
}

void
rlb_close(struct rlb_segment *s)
{
	rl_close(s->rl);
	s->rl = NULL;
	s->look_ns = RL_NEVER_NS;
	s->epoch++;
}

int
rlb_is_current(const struct rlb_segment *s)
{
	struct stat st;

	if (s->look_ns == RL_NEVER_NS)
		return 1;
	return see(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino;
}

/* While there is none, it is looked for by another clock than its own. */
static int
look_for_first(struct rlb_segment *s)
{
	uint64_t now_ns = monotonic_ns();

	if (now_ns < s->look_ns)
		return s->trouble;
	s->trouble = attach(s);
	if (s->trouble < 0) {
		s->look_ns = now_ns + LOOK_NS;
		return s->trouble;
	}
	s->epoch++;
	return 1;
}

int
rlb_look(struct rlb_segment *s)
{
	struct rl *old = s->rl;

	if (s->look_ns == RL_NEVER_NS)
		return 0;
	if (!old)
		return look_for_first(s);
	s->look_ns = rl_now(old) + LOOK_NS;
	s->trouble = 0;
	if (rlb_is_current(s))
		return 0;
	s->trouble = attach(s);
	if (s->trouble < 0)
		return s->trouble;
	rl_close(old);
	s->epoch++;
	return 1;
}

int
rlb_rule_renew(struct rlb_segment *s, struct rlb_rule *r)
{
	r->rule.name = r->name;
	r->rule.more = r->rule.more_count > 0 ? r->more : NULL;
	if (!s->rl)
		return -EBADF;
	switch (r->kind) {
	case RLB_DEFINED:
		r->id = rl_define(s->rl, &r->rule);
		break;
	case RLB_SPACE:
		r->id = rl_define_counters(s->rl, r->name);
		break;
	default:
		r->id = rl_find(s->rl, r->name);
		break;
	}
	r->epoch = s->epoch;
	return r->id;
}

int
rlb_rule_again(struct rlb_segment *s, struct rlb_rule *r)
{
	int old = r->id;

	if (rlb_rule_renew(s, r) >= 0)
		return 1;
	r->id = old;
	return 0;
}

void
rlb_check(struct rlb_segment *s, struct rlb_rule *r, struct rl_item *item, struct rl_result *result)
{
	item->rule = rlb_rule_id(s, r);
	if (__builtin_expect(item->rule < 0, 0)) {
		rlb_undecided(result, item->rule);
		return;
	}
	rl_check_item(s->rl, item, result);
	if (__builtin_expect(result->error == RL_EREMOVED, 0) && rlb_rule_again(s, r)) {
		item->rule = r->id;
		rl_check_item(s->rl, item, result);
	}
}

void
rlb_decide(struct rlb_segment *s, struct rlb_rule *r, struct rl_item *item, enum rl_how how,
           uint64_t max_wait_ns, struct rl_result *result)
{
	item->rule = rlb_rule_id(s, r);
	rlb_undecided(result, item->rule);
	if (item->rule < 0)
		return;
	rl_decide(s->rl, item, 1, how, max_wait_ns, result, NULL);
	if (result->error == RL_EREMOVED && rlb_rule_again(s, r)) {
		item->rule = r->id;
		rl_decide(s->rl, item, 1, how, max_wait_ns, result, NULL);
	}
}

void
rlb_undecided(struct rl_result *result, int error)
{
	*result = (struct rl_result){.verdict = RL_UNDECIDED, .error = error};
}
