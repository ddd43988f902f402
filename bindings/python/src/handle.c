/* SPDX-License-Identifier: BSD-2-Clause */
/* What objects hold of librl: a segment until it is closed, a rule wherever its row is. */
#include "rlpy.h"

/*
 * Closing. A call without the GIL counts as a user, and the last one closes. Where there is no GIL,
 * any thread may be in any call; so there the segment is closed with the last reference, which a
 * caller has.
 */
#ifdef Py_GIL_DISABLED
#define CLOSES_AT_ONCE 0
#else
#define CLOSES_AT_ONCE 1
#endif

struct rl *
segment_rl(const struct segment *segment)
{
	if (segment->s.rl && !segment->is_closing)
		return segment->s.rl;
	PyErr_SetString(PyExc_ValueError, "the segment is closed");
	return NULL;
}

struct rl *
segment_at(const struct segment *segment, PyObject *at, uint64_t *now_ns)
{
	int is_given = at && at != Py_None;
	struct rl *rl;

	if (is_given && u64_get(at, "at_ns", now_ns) < 0)
		return NULL;
	rl = segment_rl(segment);
	if (rl && !is_given)
		*now_ns = rl_now(rl);
	return rl;
}

void
segment_drop(struct segment *segment)
{
	struct rl *rl = segment->s.rl;

	segment->s.rl = NULL;
	rl_close(rl);
}

struct rl *
segment_enter(struct segment *segment)
{
	struct rl *rl = segment_rl(segment);

	if (rl && CLOSES_AT_ONCE)
		segment->users++;
	return rl;
}

void
segment_leave(struct segment *segment)
{
	if (CLOSES_AT_ONCE && --segment->users == 0 && segment->is_closing)
		segment_drop(segment);
}

void
segment_end(struct segment *segment)
{
	segment->is_closing = 1;
	if (CLOSES_AT_ONCE && segment->users == 0)
		segment_drop(segment);
}

int
rule_moved(struct rule *rule, const struct rl_result *r)
{
	const char *name;
	int handle;

	if (r->error != RL_EREMOVED || !(name = PyUnicode_AsUTF8AndSize(rule->name, NULL)))
		return 0;
	handle = rl_find(rule->segment->s.rl, name);
	if (handle < 0 || handle == rule->handle)
		return 0;
	rule->handle = handle;
	return 1;
}
