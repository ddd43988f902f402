/* SPDX-License-Identifier: BSD-2-Clause */
/* What a rule is, what it has counted, and why a key is told what it is told. */
#include <errno.h>
#include <rl_admin.h>

#include "about.h"
#include "rlpy.h"

#define RULE(object) ((struct rule *)(object))

const char limits_doc[] =
	"limits($self)\n--\n\n"
	"The rule's limits as they are in force now, the administrator's changes with\n"
	"them: a list of dicts with the fields of struct rl_limit.";
PyObject *
rule_limits(PyObject *self, PyObject *ignored)
{
	struct rl *rl = segment_rl(RULE(self)->segment);
	struct rl_rule_info info;

	(void)ignored;
	if (!rl)
		return NULL;
	if (rl_rule_info(rl, RULE(self)->handle, &info) != 1)
		return raise_error(RULE(self)->state, RL_EREMOVED, NULL);
	PyObject *list = PyList_New(0);
	for (unsigned i = 0; list && i < info.limit_count; i++) {
		PyObject *limit = PyDict_New();
		if (limit)
			rlb_fields_show(RL_OF_LIMIT, &info.limits[i], show_value, limit);
		limit = shown(limit);
		if (!limit || PyList_Append(list, limit) < 0)
			Py_CLEAR(list);
		Py_XDECREF(limit);
	}
	return list;
}

const char stats_doc[] =
	"stats($self)\n--\n\n"
	"What the rule has counted in all processes, as `rlctl stats` tells it: a dict.";
PyObject *
rule_stats(PyObject *self, PyObject *ignored)
{
	struct rl *rl = segment_rl(RULE(self)->segment);

	(void)ignored;
	if (!rl)
		return NULL;
	PyObject *dict = PyDict_New();
	if (dict && rlb_stats_show(rl, RULE(self)->handle, show_value, dict) < 0) {
		Py_DECREF(dict);
		return raise_error(RULE(self)->state, RL_EREMOVED, NULL);
	}
	return shown(dict);
}

static PyObject *
entry_dict(const struct rl_entry *e)
{
	PyObject *buckets = PyList_New(0);

	for (uint32_t i = 0; buckets && i < e->buckets; i++) {
		PyObject *count = PyLong_FromUnsignedLong(e->bucket[i]);
		if (!count || PyList_Append(buckets, count) < 0)
			Py_CLEAR(buckets);
		Py_XDECREF(count);
	}
	if (!buckets)
		return NULL;
	return Py_BuildValue("{s:I,s:I,s:O,s:K,s:I,s:K,s:K,s:N}", "limit", e->limit, "used",
	                     e->used, "is_limited", e->is_limited ? Py_True : Py_False, "denied",
	                     (unsigned long long)e->denied, "tier", e->tier, "bucket_ns",
	                     (unsigned long long)e->bucket_ns, "bucket_end_ns",
	                     (unsigned long long)e->bucket_end_ns, "buckets", buckets);
}

static int
add_entry(const struct rl_entry *entry, void *list)
{
	PyObject *dict = entry_dict(entry);
	int error = dict ? PyList_Append(list, dict) : -1;

	Py_XDECREF(dict);
	return error < 0;
}

const char entries_doc[] =
	"entries($self, key, *, at_ns=None)\n--\n\n"
	"Why a key is told what it is told, as `rlctl get` shows it: a dict for each limit "
	"that has\n"
	"counted it, with `used`, `denied` (sampled), and the sub-buckets, newest first.";
PyObject *
rule_entries(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"key", "at_ns", NULL};
	static const struct arguments a = {"entries", all, 1, 1};
	struct segment *segment = RULE(self)->segment;
	PyObject *given[2], *list;
	uint64_t now_ns = 0;
	struct rl *rl;
	struct key key;
	int error = 0;

	if (arguments_read(&a, args, count, names, given) < 0 || key_get(given[0], &key) < 0)
		return NULL;
	rl = segment_at(segment, given[1], &now_ns) ? segment_enter(segment) : NULL;
	list = rl ? PyList_New(0) : NULL;
	if (list)
		error = rl_lookup(rl, RULE(self)->handle, key.bytes, key.len, now_ns, add_entry,
		                  list);
	if (rl)
		segment_leave(segment);
	key_drop(&key);
	if (PyErr_Occurred() || (error < 0 && error != -ENOENT))
		Py_CLEAR(list);
	if (error < 0 && error != -ENOENT)
		return raise_error(RULE(self)->state, error, "key");
	return list;
}
