/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters: a space of counters by key. */
#include <string.h>

#include "rlpy.h"

#define RULE(object) ((struct rule *)(object)) /* a space is kept as a rule is */

PyObject *
counters_new(struct segment *segment, int space, const char *name)
{
	struct rule *self = PyObject_New(struct rule, segment->state->counters);

	if (!self)
		return NULL;
	self->state = segment->state;
	self->segment = (struct segment *)Py_NewRef((PyObject *)segment);
	self->handle = space;
	self->name = PyUnicode_FromString(name);
	if (!self->name)
		Py_CLEAR(self);
	return (PyObject *)self;
}

static void
counters_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	Py_XDECREF(RULE(object)->name);
	Py_DECREF(RULE(object)->segment);
	PyObject_Free(object);
	Py_DECREF(type);
}

static PyObject *
count_new(const struct state *state, const struct rl_count *count)
{
	PyObject *tuple = PyStructSequence_New(state->count);
	PyObject *items[4] = {PyLong_FromUnsignedLongLong(count->value),
	                      seconds_from(count->expires_after_ns), PyBool_FromLong(count->is_new),
	                      PyLong_FromUnsignedLongLong(count->expires_after_ns)};

	for (int i = 0; i < 4; i++) {
		if (!tuple || !items[i]) {
			Py_XDECREF(items[i]);
			Py_CLEAR(tuple);
		} else {
			PyStructSequence_SetItem(tuple, i, items[i]);
		}
	}
	return tuple;
}

/* A space whose row went to another is made again. */
static int
space_moved(struct rule *self, int error)
{
	const char *name;
	int space;

	if (error != RL_EREMOVED || !(name = PyUnicode_AsUTF8AndSize(self->name, NULL)))
		return 0;
	space = rl_define_counters(self->segment->s.rl, name);
	if (space < 0 || space == self->handle)
		return 0;
	self->handle = space;
	return 1;
}

/* None: there is no counter. */
static PyObject *
answer(struct rule *self, enum rl_counter_op op, struct rl_counter_item *item)
{
	struct rl_count count = {0};
	int done;

	do {
		item->space = self->handle;
		done = rl_counter_apply(self->segment->s.rl, op, item, &count);
	} while (space_moved(self, done));
	if (done < 0)
		return raise_error(self->state, done, "counter");
	if (op == RL_COUNTER_DROP)
		return PyBool_FromLong(done);
	if (done == 0 && op != RL_COUNTER_SET_NEW)
		return Py_NewRef(Py_None);
	return count_new(self->state, &count);
}

static PyObject *
ask(PyObject *object, enum rl_counter_op op, const struct arguments *a, PyObject *const *args,
    Py_ssize_t count, PyObject *names)
{
	struct rl_counter_item item = {.amount = 1};
	const char *what = op == RL_COUNTER_ADD ? "amount" : "value";
	PyObject *given[5] = {NULL}, *result = NULL;
	struct key key;

	if (arguments_read(a, args, count, names, given) < 0 ||
	    (a->names[2] && seconds_get(given[2], "lifetime", &item.lifetime_ns) < 0) ||
	    i64_get(given[3], what, &item.amount) < 0 || key_get(given[0], &key) < 0)
		return NULL;
	item.key = key.bytes;
	item.key_len = key.len;
	if (segment_at(RULE(object)->segment, given[1], &item.now_ns))
		result = answer(RULE(object), op, &item);
	key_drop(&key);
	return result;
}

/* Arguments without a name come in an order of their own: moved to that of ask(). */
static PyObject *
with_value(PyObject *self, enum rl_counter_op op, const char *function, const char *value,
           PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	const char *const all[] = {"key", value, "lifetime", "at_ns", NULL};
	const struct arguments a = {function, all, 3, op == RL_COUNTER_ADD ? 1 : 2};
	static const char *const inner[] = {"key", "at_ns", "lifetime", "value", NULL};
	static const struct arguments b = {"counter", inner, 4, 1};
	PyObject *given[4];

	if (arguments_read(&a, args, count, names, given) < 0)
		return NULL;
	PyObject *const moved[4] = {given[0], given[3] ? given[3] : Py_None, given[2], given[1]};
	return ask(self, op, &b, moved, 4, NULL);
}

PyDoc_STRVAR(
	add_doc,
	"add($self, key, amount=1, lifetime=0, *, at_ns=None)\n--\n\n"
	"Add to a counter, or subtract. One that is not there is made if the amount is\n"
	"above 0, and lives for `lifetime` seconds from now (None: without an end, 0: none is\n"
	"made). One that is there keeps its lifetime. A Count, or None: there is none.");
static PyObject *
counters_add(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	return with_value(self, RL_COUNTER_ADD, "add", "amount", args, count, names);
}

PyDoc_STRVAR(set_doc,
             "set($self, key, value, lifetime=0, *, at_ns=None)\n--\n\n"
             "Set a counter, and a lifetime that begins now. With 0 one that is there keeps its\n"
             "own. A Count, or None: there is none.");
static PyObject *
counters_set(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	return with_value(self, RL_COUNTER_SET, "set", "value", args, count, names);
}

PyDoc_STRVAR(set_new_doc, "set_new($self, key, value, lifetime, *, at_ns=None)\n--\n\n"
                          "Set a counter only if there is none: a Count, whose is_new tells.");
static PyObject *
counters_set_new(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	return with_value(self, RL_COUNTER_SET_NEW, "set_new", "value", args, count, names);
}

PyDoc_STRVAR(get_doc,
             "get($self, key, *, at_ns=None)\n--\n\nThe counter's Count, or None: there is none.");
static PyObject *
counters_get(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"key", "at_ns", NULL};
	static const struct arguments a = {"get", all, 1, 1};

	return ask(self, RL_COUNTER_GET, &a, args, count, names);
}

PyDoc_STRVAR(touch_doc, "touch($self, key, *, lifetime, at_ns=None)\n--\n\n"
                        "Let a counter live for `lifetime` seconds from now: a Count, or None.");
static PyObject *
counters_touch(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"key", "at_ns", "lifetime", NULL};
	static const struct arguments a = {"touch", all, 1, 1};

	return ask(self, RL_COUNTER_TOUCH, &a, args, count, names);
}

PyDoc_STRVAR(drop_doc, "drop($self, key, *, at_ns=None)\n--\n\n"
                       "Remove a counter: True, or False if there was none.");
static PyObject *
counters_drop(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"key", "at_ns", NULL};
	static const struct arguments a = {"drop", all, 1, 1};

	return ask(self, RL_COUNTER_DROP, &a, args, count, names);
}

static PyObject *
counters_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<rl.Counters %U>", RULE(self)->name);
}

static PyMemberDef members[] = {
	{"name", T_OBJECT_EX, offsetof(struct rule, name), READONLY, "the space's name"},
	{"segment", T_OBJECT_EX, offsetof(struct rule, segment), READONLY, "the segment it is of"},
	{NULL, 0, 0, 0, NULL},
};

#define FAST(function) ((PyCFunction)(void (*)(void))(function)), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
	{"add", FAST(counters_add), add_doc},
	{"get", FAST(counters_get), get_doc},
	{"set", FAST(counters_set), set_doc},
	{"set_new", FAST(counters_set_new), set_new_doc},
	{"touch", FAST(counters_touch), touch_doc},
	{"drop", FAST(counters_drop), drop_doc},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
         "A space of counters by key, for programs that count and decide for themselves: see\n"
         "Segment.counters(). Bans and overrides do not apply to them."},
	{Py_tp_dealloc, counters_dealloc},
	{Py_tp_repr, counters_repr},
	{Py_tp_members, members},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec counters_spec = {
	.name = "rl.Counters",
	.basicsize = sizeof(struct rule),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

static PyStructSequence_Field fields[] = {
	{"value", "0 to 2**48 - 1"},
	{"expires_after", "seconds; inf: it has no end"},
	{"is_new", "made by this call"},
	{"expires_after_ns", "nanoseconds; NEVER_NS: it has no end"},
	{NULL, NULL},
};

PyStructSequence_Desc count_desc = {"rl.Count", "A counter as a call left it.", fields, 4};
