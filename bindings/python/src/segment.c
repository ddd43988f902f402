/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment: what a process has open, and what is asked of all of it. */
#include <errno.h>
#include <rl_admin.h>

#include "about.h"
#include "rlpy.h"

#define SEGMENT(object) ((struct segment *)(object))

static void
segment_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	segment_drop(SEGMENT(object));
	PyObject_Free(object);
	Py_DECREF(type);
}

PyDoc_STRVAR(close_doc, "close($self)\n--\n\n"
                        "Detach. The segment and its counters stay. Later calls raise ValueError.");
static PyObject *
segment_close(PyObject *object, PyObject *ignored)
{
	(void)ignored;
	segment_end(SEGMENT(object));
	return Py_NewRef(Py_None);
}

static PyObject *
segment_enter_context(PyObject *self, PyObject *ignored)
{
	(void)ignored;
	return segment_rl(SEGMENT(self)) ? Py_NewRef(self) : NULL;
}

/* Of a rule, of a space of counters, or None: of all. */
static int
rule_or_any(PyObject *object, const struct segment *segment, int *handle)
{
	struct state *state = segment->state;

	*handle = RL_ANY_RULE;
	if (object == Py_None)
		return 0;
	if (Py_TYPE(object) != state->rule && Py_TYPE(object) != state->counters) {
		PyErr_SetString(PyExc_TypeError, "rule: expected an rl.Rule, rl.Counters or None");
		return -1;
	}
	if (((struct rule *)object)->segment != segment) {
		PyErr_Format(PyExc_ValueError, "rule: %R is of another segment", object);
		return -1;
	}
	*handle = ((struct rule *)object)->handle;
	return 0;
}

static int
pattern_read(int match, PyObject *object, struct key *key, struct rl_pattern *pattern)
{
	if (key_get(object, key) < 0)
		return -1;
	*pattern = (struct rl_pattern){(enum rl_match)match, key->bytes, key->len};
	return 0;
}

PyDoc_STRVAR(ban_doc, "_ban($self, what, rule, match, key, until_ns)\n--\n\n"
                      "`what` is 0 to ban, 1 to allow, 2 to undo either.");
static PyObject *
segment_ban(PyObject *object, PyObject *args)
{
	PyObject *rule, *bytes, *until;
	struct rl_pattern pattern;
	uint64_t until_ns = RL_NEVER_NS;
	struct rl *rl;
	struct key key;
	int what, match, handle, done;

	if (!PyArg_ParseTuple(args, "iOiOO:_ban", &what, &rule, &match, &bytes, &until) ||
	    rule_or_any(rule, SEGMENT(object), &handle) < 0 ||
	    u64_get(until, "until_ns", &until_ns) < 0 ||
	    pattern_read(match, bytes, &key, &pattern) < 0)
		return NULL;
	if (!(rl = segment_rl(SEGMENT(object)))) {
		key_drop(&key);
		return NULL;
	}
	if (what == 2)
		done = rl_unban(rl, handle, &pattern);
	else
		done = (what == 1 ? rl_allow : rl_ban)(rl, handle, &pattern, until_ns);
	key_drop(&key);
	return done < 0 ? raise_error(SEGMENT(object)->state, done, NULL) : PyLong_FromLong(done);
}

PyDoc_STRVAR(reset_doc,
             "_reset($self, rule, match, key, counts)\n--\n\nSegment.reset() without its words.");
static PyObject *
segment_reset(PyObject *object, PyObject *args)
{
	struct segment *self = SEGMENT(object);
	struct rl_reset_counts counts = {0};
	struct rl_pattern pattern;
	struct key key = {0};
	PyObject *rule, *bytes;
	int match, handle, error, counted;
	struct rl *rl;

	if (!PyArg_ParseTuple(args, "OiOp:_reset", &rule, &match, &bytes, &counted) ||
	    rule_or_any(rule, self, &handle) < 0 ||
	    (bytes != Py_None && pattern_read(match, bytes, &key, &pattern) < 0))
		return NULL;
	if (!(rl = segment_enter(self))) {
		key_drop(&key);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS error = rl_reset_matching(
		rl, handle, bytes == Py_None ? NULL : &pattern, counted ? &counts : NULL);
	Py_END_ALLOW_THREADS segment_leave(self);
	key_drop(&key);
	if (error < 0)
		return raise_error(self->state, error, NULL);
	return Py_BuildValue("(KK)", (unsigned long long)counts.forgotten,
	                     (unsigned long long)counts.unknown);
}

PyDoc_STRVAR(
	is_current_doc,
	"is_current($self)\n--\n\n"
	"Whether the segment's name still leads to this one: not after unlink() and a new one. "
	"A private segment is always current.");
static PyObject *
segment_is_current(PyObject *object, PyObject *ignored)
{
	(void)ignored;
	if (!segment_rl(SEGMENT(object)))
		return NULL;
	return PyBool_FromLong(rlb_is_current(&SEGMENT(object)->s));
}

PyDoc_STRVAR(now_doc, "now_ns($self)\n--\n\nNow on the segment's clock: nanoseconds since 1970.");
static PyObject *
segment_now(PyObject *object, PyObject *ignored)
{
	struct rl *rl = segment_rl(SEGMENT(object));

	(void)ignored;
	return rl ? PyLong_FromUnsignedLongLong(rl_now(rl)) : NULL;
}

PyDoc_STRVAR(give_back_doc,
             "give_back($self)\n--\n\n"
             "Give back what this process has prefetched (`prefetch`): how many units.");
static PyObject *
segment_give_back(PyObject *object, PyObject *ignored)
{
	struct rl *rl = segment_rl(SEGMENT(object));

	(void)ignored;
	int done = rl ? rl_prefetch_return(rl) : 0;
	if (done < 0)
		return raise_error(SEGMENT(object)->state, done, NULL);
	return rl ? PyLong_FromLong(done) : NULL;
}

PyDoc_STRVAR(settle_doc,
             "settle($self, charges, actual, *, at_ns=None)\n--\n\n"
             "Result.settle() by the bytes of Result.charges, in whatever process. The bytes\n"
             "say nothing about whether that was done before: do it once.");
static PyObject *
segment_settle(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"charges", "actual", "at_ns", NULL};
	struct rl_charges charges = {.count = 0};
	PyObject *at = NULL, *given;
	const char *bytes;
	Py_ssize_t len;
	struct rl *rl;
	uint64_t actual = UINT64_MAX; /* None is RL_EACTUAL, too */

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#O|$O:settle", names, &bytes, &len, &given,
	                                 &at) ||
	    u64_get(given, "actual", &actual) < 0 ||
	    !(rl = segment_at(SEGMENT(object), at, &charges.now_ns)))
		return NULL;
	if ((size_t)len > sizeof charges.charge || (size_t)len % sizeof charges.charge[0] != 0) {
		PyErr_SetString(PyExc_ValueError, "charges: these are not the bytes of charges");
		return NULL;
	}
	memcpy(charges.charge, bytes, (size_t)len);
	charges.count = (unsigned)((size_t)len / sizeof charges.charge[0]);
	int done = rl_settle(rl, &charges, actual);
	if (done < 0)
		return raise_error(SEGMENT(object)->state, done, "actual");
	return PyBool_FromLong(done);
}

PyDoc_STRVAR(info_doc,
             "info($self)\n--\n\nWhat the segment is: a dict with the fields of struct rl_info.");
static PyObject *
segment_info(PyObject *object, PyObject *ignored)
{
	struct rl *rl = segment_enter(SEGMENT(object));
	PyObject *dict = rl ? PyDict_New() : NULL;

	(void)ignored;
	if (!rl)
		return NULL;
	if (dict)
		rlb_info_show(rl, show_value, dict);
	segment_leave(SEGMENT(object));
	return shown(dict);
}

PyDoc_STRVAR(sweep_doc,
             "sweep($self, *, at_ns=None)\n--\n\n"
             "Free the slots of expired keys: how many. Nobody needs to; rld does it, too.");
static PyObject *
segment_sweep(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"at_ns", NULL};
	struct segment *self = SEGMENT(object);
	PyObject *at = NULL;
	uint64_t now_ns;
	int64_t freed;
	struct rl *rl;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:sweep", names, &at) ||
	    !(rl = segment_enter(self)))
		return NULL;
	now_ns = rl_now(rl);
	int error = u64_get(at, "at_ns", &now_ns);
	Py_BEGIN_ALLOW_THREADS freed = error < 0 ? 0 : rl_sweep_at(rl, now_ns);
	Py_END_ALLOW_THREADS segment_leave(self);
	if (error < 0)
		return NULL;
	return freed < 0 ? raise_error(self->state, (int)freed, NULL) : PyLong_FromLongLong(freed);
}

static PyObject *
get_is_closed(PyObject *object, void *closure)
{
	(void)closure;
	return PyBool_FromLong(!SEGMENT(object)->s.rl || SEGMENT(object)->is_closing);
}

static PyObject *
get_name(PyObject *object, void *closure)
{
	struct rl *rl = segment_rl(SEGMENT(object));
	struct rl_info info;

	(void)closure;
	if (!rl)
		return NULL;
	rl_info(rl, &info);
	return PyUnicode_FromString(info.name);
}

static PyGetSetDef getters[] = {
	{"is_closed", get_is_closed, NULL, "close() was called", NULL},
	{"name", get_name, NULL, "the segment's name; \"\" of a private one", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

#define KEYWORDS(function) ((PyCFunction)(void (*)(void))(function)), METH_VARARGS | METH_KEYWORDS
static PyMethodDef methods[] = {
	{"close", segment_close, METH_NOARGS, close_doc},
	{"__enter__", segment_enter_context, METH_NOARGS, NULL},
	{"__exit__", segment_close, METH_VARARGS, NULL},
	{"_define", segment_define, METH_VARARGS, define_doc},
	{"_ban", segment_ban, METH_VARARGS, ban_doc},
	{"_reset", segment_reset, METH_VARARGS, reset_doc},
	{"find", segment_find, METH_VARARGS, find_doc},
	{"forget", segment_forget, METH_VARARGS, forget_doc},
	{"rules", segment_rules, METH_NOARGS, rules_doc},
	{"counters", segment_counters, METH_VARARGS, counters_doc},
	{"_check_all", (PyCFunction)(void (*)(void))check_all, METH_FASTCALL | METH_KEYWORDS, NULL},
	{"_check_many", (PyCFunction)(void (*)(void))check_many, METH_FASTCALL | METH_KEYWORDS,
         NULL},
	{"is_current", segment_is_current, METH_NOARGS, is_current_doc},
	{"now_ns", segment_now, METH_NOARGS, now_doc},
	{"settle", KEYWORDS(segment_settle), settle_doc},
	{"give_back", segment_give_back, METH_NOARGS, give_back_doc},
	{"info", segment_info, METH_NOARGS, info_doc},
	{"sweep", KEYWORDS(segment_sweep), sweep_doc},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, SEGMENT_DOC}, {Py_tp_new, segment_open}, {Py_tp_dealloc, segment_dealloc},
	{Py_tp_getset, getters},  {Py_tp_methods, methods},  {0, NULL},
};

PyType_Spec segment_spec = {
	.name = "rl.Segment",
	.basicsize = sizeof(struct segment),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
