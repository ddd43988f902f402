/* SPDX-License-Identifier: BSD-2-Clause */
/* Decisions for adapters that want no result of them. */
#include "rlpy.h"

#define RULE(object) ((struct rule *)(object))

/* What an adapter's hit needs, without a result. */
static int
hit(struct rule *self, PyObject *object, struct rl_item *item, PyObject *at, struct rl_result *r)
{
	struct rl *rl;
	struct key key;

	if (key_get(object, &key) < 0)
		return -1;
	rl = segment_at(self->segment, at, &item->now_ns);
	if (!rl) {
		key_drop(&key);
		return -1;
	}
	item->key = key.bytes;
	item->key_len = key.len;
	do {
		item->rule = self->handle;
		rl_check_item(rl, item, r);
	} while (rule_moved(self, r));
	key_drop(&key);
	if (r->verdict != RL_UNDECIDED && r->error != RL_EEMPTY)
		return 0;
	raise_error(self->state, r->error, "key");
	return -1;
}

const char admits_doc[] =
	"_admits($self, key, cost, capacity, at_ns)\n--\n\nallows(), for adapters.";
PyObject *
rule_admits(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	struct rl_item item = {0};
	struct rl_result r;

	if (count != 4)
		return PyErr_Format(PyExc_TypeError, "_admits() takes 4 arguments, got %zd", count);
	if (u64_get(args[1], "cost", &item.cost) < 0 ||
	    u32_get(args[2], "capacity", &item.capacity) < 0 ||
	    hit(RULE(self), args[0], &item, args[3], &r) < 0)
		return NULL;
	return PyBool_FromLong(r.verdict == RL_ALLOWED);
}

const char used_doc[] = "_used($self, key, cost, expiry, seconds, at_ns)\n--\n\n"
			"For adapters that compare for themselves: what counts now under the "
			"capacity that the key\n"
			"tells, and more than that if the request is denied. None: the key tells "
			"none, or of another\n"
			"window than `expiry`.";
PyObject *
rule_used(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	struct rl_item item = {0};
	struct key_limit limit;
	uint64_t expiry = 0;
	struct rl_result r;

	if (count != 5)
		return PyErr_Format(PyExc_TypeError, "_used() takes 5 arguments, got %zd", count);
	if (u64_get(args[1], "cost", &item.cost) < 0 || u64_get(args[2], "expiry", &expiry) < 0)
		return NULL;
	if (!key_limit_get(args[0], args[3], &limit) || limit.expiry != expiry)
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	item.capacity = limit.amount;
	if (hit(RULE(self), args[0], &item, args[4], &r) < 0)
		return NULL;
	if (r.verdict != RL_ALLOWED &&
	    r.used <= limit.amount) /* banned, or never: it is not counted */
		return PyLong_FromUnsignedLongLong(limit.amount + item.cost);
	return PyLong_FromUnsignedLong(r.used);
}
