/* SPDX-License-Identifier: BSD-2-Clause */
/* Several rules of one request, and several requests at once. */
#include <rl_admin.h>

#include "rlpy.h"

struct batch {
	struct segment *segment;
	PyObject *tuple; /* of items: whose bytes the keys are */
	Py_ssize_t count;
	struct rl_item *items;
	struct key *keys;
	struct result **results;
	struct rl_result *filled;
};

static void
batch_free(struct batch *b)
{
	for (Py_ssize_t i = 0; b->keys && i < b->count; i++)
		key_drop(&b->keys[i]);
	for (Py_ssize_t i = 0; b->results && i < b->count; i++)
		Py_XDECREF((PyObject *)b->results[i]);
	PyMem_Free(b->items);
	PyMem_Free(b->keys);
	PyMem_Free(b->results);
	PyMem_Free(b->filled);
	Py_XDECREF(b->tuple);
}

/*
 * (rule, key, cost, capacity, burst, undelayed): the first two are needed, and None is as if
 * absent.
 */
static int
item_of(struct batch *b, Py_ssize_t i, PyObject *tuple)
{
	PyObject *rule, *given[ITEM_ARGUMENTS] = {NULL};
	struct state *state = b->segment->state;

	if (!PyTuple_Check(tuple) ||
	    !PyArg_ParseTuple(tuple, "O!O|OOOO:item", state->rule, &rule, &given[ITEM_KEY],
	                      &given[ITEM_COST], &given[ITEM_CAPACITY], &given[ITEM_BURST],
	                      &given[ITEM_UNDELAYED])) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_TypeError,
			             "items[%zd]: expected (rule, key, ...), got %R", i, tuple);
		return -1;
	}
	if (((struct rule *)rule)->segment != b->segment) {
		PyErr_Format(PyExc_ValueError, "items[%zd]: %R is of another segment", i, rule);
		return -1;
	}
	if (item_read(given, &b->items[i], &b->keys[i]) < 0)
		return -1;
	b->items[i].rule = ((struct rule *)rule)->handle;
	b->results[i] = result_new((struct rule *)rule);
	if (!b->results[i])
		return -1;
	b->items[i].charges = &b->results[i]->charges;
	return 0;
}

static int
batch_read(struct batch *b, PyObject *list)
{
	b->tuple = PySequence_Tuple(list);
	if (!b->tuple)
		return -1;
	b->count = PyTuple_Size(b->tuple);
	b->items = PyMem_Calloc((size_t)b->count + 1, sizeof *b->items);
	b->keys = PyMem_Calloc((size_t)b->count + 1, sizeof *b->keys);
	b->results = PyMem_Calloc((size_t)b->count + 1, sizeof(struct result *));
	b->filled = PyMem_Calloc((size_t)b->count + 1, sizeof *b->filled);
	if (!b->items || !b->keys || !b->results || !b->filled) {
		PyErr_NoMemory();
		return -1;
	}
	for (Py_ssize_t i = 0; i < b->count; i++)
		if (item_of(b, i, PyTuple_GetItem(b->tuple, i)) < 0)
			return -1;
	return 0;
}

/* Of an empty key nothing was decided, and yet it would be a yes. */
static PyObject *
batch_results(struct batch *b, uint64_t now_ns)
{
	PyObject *list = PyList_New(0);

	for (Py_ssize_t i = 0; list && i < b->count; i++) {
		struct result *result = b->results[i];
		result->r = b->filled[i];
		result->now_ns = now_ns;
		result_hold(result);
		if (PyList_Append(list, (PyObject *)result) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static int
no_empty_key(const struct batch *b)
{
	for (Py_ssize_t i = 0; i < b->count; i++)
		if (b->keys[i].len == 0) {
			raise_error(b->segment->state, RL_EEMPTY, "key");
			return -1;
		}
	return 0;
}

/* Reads what both calls take. */
static int
begin(struct batch *b, const char *function, PyObject *const *args, Py_ssize_t count,
      PyObject *names, uint64_t *now_ns)
{
	static const char *const all[] = {"items", "at_ns", "flags", NULL};
	const struct arguments a = {function, all, 1, 1};
	uint32_t flags = b->segment->may_sleep ? RL_ITEM_SLEEPS : 0;
	PyObject *given[3];

	if (arguments_read(&a, args, count, names, given) < 0 || batch_read(b, given[0]) < 0 ||
	    no_empty_key(b) < 0)
		return -1;
	if (!segment_at(b->segment, given[1], now_ns))
		return -1;
	if (u32_get(given[2], "flags", &flags) < 0)
		return -1;
	for (Py_ssize_t i = 0; i < b->count; i++) {
		b->items[i].now_ns = *now_ns;
		b->items[i].flags |= flags;
	}
	return 0;
}

static enum rl_verdict
decide_all(struct batch *b, size_t *decided)
{
	enum rl_verdict verdict;
	struct rl *rl = b->segment->s.rl;

	if (!b->segment->may_sleep || b->count == 0)
		return rl_check_all(rl, b->items, (size_t)b->count, b->filled, decided);
	segment_enter(b->segment);
	Py_BEGIN_ALLOW_THREADS;
	verdict = rl_check_all(rl, b->items, (size_t)b->count, b->filled, decided);
	Py_END_ALLOW_THREADS;
	segment_leave(b->segment);
	return verdict;
}

PyObject *
check_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct batch b = {.segment = (struct segment *)self};
	PyObject *answer = NULL;
	uint64_t now_ns;
	size_t decided = 0;

	if (begin(&b, "check_all", args, count, names, &now_ns) == 0 && b.count > RL_ITEMS_MAX) {
		PyErr_Format(PyExc_ValueError, "items: %zd; at most %d are allowed", b.count,
		             RL_ITEMS_MAX);
	} else if (!PyErr_Occurred()) {
		enum rl_verdict verdict = decide_all(&b, &decided);
		PyObject *list = batch_results(&b, now_ns);
		if (list)
			answer = Py_BuildValue("(OnN)", b.segment->state->verdicts[verdict],
			                       (Py_ssize_t)decided, list);
	}
	batch_free(&b);
	return answer;
}

PyObject *
check_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct batch b = {.segment = (struct segment *)self};
	PyObject *answer = NULL;
	uint64_t now_ns;

	if (begin(&b, "check_many", args, count, names, &now_ns) == 0) {
		rl_check_many(b.segment->s.rl, b.items, (size_t)b.count, b.filled);
		answer = batch_results(&b, now_ns);
	}
	batch_free(&b);
	return answer;
}
