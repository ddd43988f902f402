/* SPDX-License-Identifier: BSD-2-Clause */
/* Rule: decisions by one rule. */
#include "rlpy.h"

#define RULE(object) ((struct rule *)(object))

struct rule *
rule_new(struct segment *segment, int handle, const char *name)
{
	struct rule *rule = PyObject_New(struct rule, segment->state->rule);

	if (!rule)
		return NULL;
	rule->state = segment->state;
	rule->segment = (struct segment *)Py_NewRef((PyObject *)segment);
	rule->handle = handle;
	rule->name = PyUnicode_FromString(name);
	if (!rule->name)
		Py_CLEAR(rule);
	return rule;
}

static void
rule_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	Py_XDECREF(RULE(object)->name);
	Py_DECREF(RULE(object)->segment);
	PyObject_Free(object);
	Py_DECREF(type);
}

static void
decide(struct segment *segment, struct rl_item *item, enum rl_how how, uint64_t max_wait_ns,
       struct rl_result *r)
{
	struct rl *rl = segment->s.rl;

	if (!segment->may_sleep || how != RL_CHECK) {
		rl_decide(rl, item, 1, how, max_wait_ns, r, NULL);
		return;
	}
	item->flags |= RL_ITEM_SLEEPS;
	segment_enter(segment);
	Py_BEGIN_ALLOW_THREADS;
	rl_decide(rl, item, 1, how, max_wait_ns, r, NULL);
	Py_END_ALLOW_THREADS;
	segment_leave(segment);
}

static PyObject *
ask_new(struct rule *self, enum rl_how how, struct rl_item *item, PyObject *at,
        uint64_t max_wait_ns)
{
	struct result *result = result_new(self);

	if (!result)
		return NULL;
	if (!segment_at(self->segment, at, &result->now_ns)) {
		Py_DECREF(result);
		return NULL;
	}
	item->charges = &result->charges;
	item->now_ns = result->now_ns;
	do {
		item->rule = self->handle;
		decide(self->segment, item, how, max_wait_ns, &result->r);
	} while (rule_moved(self, &result->r));
	if (result->charges.count > 0)
		result_hold(result);
	return result_finish(result);
}

/* The call with a key alone, which is most of them. */
static PyObject *
check_key(struct rule *self, PyObject *object)
{
	struct rl_item item = {.cost = 1};
	struct key key;

	if (key_get(object, &key) < 0)
		return NULL;
	item.key = key.bytes;
	item.key_len = key.len;
	PyObject *result = ask_new(self, RL_CHECK, &item, NULL, 0);
	key_drop(&key);
	return result;
}

PyDoc_STRVAR(check_doc,
             "check($self, key, cost=1, *, capacity=None, burst=None, undelayed=None, "
             "at_ns=None)\n--\n\n"
             "Decide a request and charge it if it is allowed. `key` is str or bytes. `capacity`,\n"
             "`burst` and `undelayed` are this request's own, in place of the first limit's.\n"
             "`at_ns` is the time of it on the segment's clock (now_ns()), if not now.\n\n"
             "A key without bytes is a ValueError. Whatever else keeps librl from deciding is the\n"
             "result's `error`; such a result is undecided, and false.");
static PyObject *
rule_check(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {ITEM_NAMES, "at_ns", NULL};
	static const struct arguments a = {"check", all, 2, 1};
	PyObject *given[ITEM_ARGUMENTS + 1], *result;
	struct rl_item item = {0};
	struct key key;

	if (count == 1 && !names)
		return check_key(RULE(self), args[0]);
	if (arguments_read(&a, args, count, names, given) < 0 || item_read(given, &item, &key) < 0)
		return NULL;
	result = ask_new(RULE(self), RL_CHECK, &item, given[ITEM_ARGUMENTS], 0);
	key_drop(&key);
	return result;
}

PyDoc_STRVAR(
	reserve_doc,
	"reserve($self, key, cost=1, *, max_wait=0, capacity=None, burst=None, undelayed=None,\n"
	"        at_ns=None)\n--\n\n"
	"Book `cost` for the earliest time at which it is there, at most `max_wait` seconds\n"
	"from now (None: however late): allowed with the time to wait in `delay`, or denied.\n"
	"Token and leaky buckets only. What is booked is charged at once, until refund().");
static PyObject *
rule_reserve(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {ITEM_NAMES, "at_ns", "max_wait", NULL};
	static const struct arguments a = {"reserve", all, 2, 1};
	PyObject *given[ITEM_ARGUMENTS + 2], *result;
	struct rl_item item = {0};
	uint64_t max_wait_ns = 0;
	struct key key;

	if (arguments_read(&a, args, count, names, given) < 0 ||
	    seconds_get(given[ITEM_ARGUMENTS + 1], "max_wait", &max_wait_ns) < 0 ||
	    item_read(given, &item, &key) < 0)
		return NULL;
	result = ask_new(RULE(self), RL_RESERVE, &item, given[ITEM_ARGUMENTS], max_wait_ns);
	key_drop(&key);
	return result;
}

PyDoc_STRVAR(peek_doc, "peek($self, key, *, at_ns=None)\n--\n\n"
                       "What check(key) would say, without charging anything.");
static PyObject *
rule_peek(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"key", "at_ns", NULL};
	static const struct arguments a = {"peek", all, 1, 1};
	struct rl_item item = {0};
	PyObject *given[2], *result;
	struct key key;

	if (arguments_read(&a, args, count, names, given) < 0 || key_get(given[0], &key) < 0)
		return NULL;
	item.key = key.bytes;
	item.key_len = key.len;
	result = ask_new(RULE(self), RL_PEEK, &item, given[1], 0);
	key_drop(&key);
	return result;
}

/* What check() leaves to the result is told here by an exception: there is no result. */
static PyObject *
allows_refused(struct rule *self, struct key *key, uint64_t cost)
{
	struct rl_result r;

	do
		rl_check(self->segment->s.rl, self->handle, key->bytes, key->len, cost, &r);
	while (rule_moved(self, &r));
	key_drop(key);
	if (r.verdict == RL_UNDECIDED)
		return raise_error(self->state, r.error, NULL);
	return PyBool_FromLong(r.verdict == RL_ALLOWED);
}

PyDoc_STRVAR(allows_doc,
             "allows($self, key, cost=1, /)\n--\n\n"
             "check(), as True or False alone: the fastest call. Raises rl.Error where\n"
             "librl cannot decide.");
static PyObject *
rule_allows(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
	struct rule *self = RULE(object);
	uint64_t cost = 1;
	struct rl_result r;
	struct rl *rl;
	struct key key;

	if (count < 1 || count > 2)
		return PyErr_Format(PyExc_TypeError,
		                    "allows() takes a key and a cost, got %zd arguments", count);
	if (u64_get(count > 1 ? args[1] : NULL, "cost", &cost) < 0 || key_get(args[0], &key) < 0)
		return NULL;
	rl = segment_rl(self->segment);
	if (!rl || key.len == 0) {
		key_drop(&key);
		return rl ? raise_error(self->state, RL_EEMPTY, "key") : NULL;
	}
	enum rl_verdict verdict = rl_check(rl, self->handle, key.bytes, key.len, cost, &r);
	if (r.error != 0)
		return allows_refused(self, &key, cost);
	key_drop(&key);
	return PyBool_FromLong(verdict == RL_ALLOWED);
}

PyDoc_STRVAR(refund_key_doc,
             "refund_key($self, key, cost=1, *, capacity=None, burst=None, undelayed=None, "
             "at_ns=None)\n--\n\n"
             "Give back `cost` by the key, for whoever has no result: how much a limit took back.");
static PyObject *
rule_refund_key(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {ITEM_NAMES, "at_ns", NULL};
	static const struct arguments a = {"refund_key", all, 2, 1};
	PyObject *given[ITEM_ARGUMENTS + 1];
	struct rl_item item = {0};
	struct rl *rl;
	struct key key;
	int done = 0;

	if (arguments_read(&a, args, count, names, given) < 0 || item_read(given, &item, &key) < 0)
		return NULL;
	item.rule = RULE(self)->handle;
	rl = segment_at(RULE(self)->segment, given[ITEM_ARGUMENTS], &item.now_ns);
	if (rl)
		done = rl_refund_key(rl, &item);
	key_drop(&key);
	if (!rl)
		return NULL;
	return done < 0 ? raise_error(RULE(self)->state, done, "key") : PyLong_FromLong(done);
}

PyDoc_STRVAR(reset_doc, "reset($self, key, /)\n--\n\n"
                        "Forget what a key has used: True, or False if there was nothing.");
static PyObject *
rule_reset(PyObject *self, PyObject *object)
{
	struct rl *rl;
	struct key key;

	if (key_get(object, &key) < 0)
		return NULL;
	if (!(rl = segment_rl(RULE(self)->segment))) {
		key_drop(&key);
		return NULL;
	}
	int done = rl_reset(rl, RULE(self)->handle, key.bytes, key.len);
	key_drop(&key);
	return done < 0 ? raise_error(RULE(self)->state, done, "key") : PyBool_FromLong(done);
}

PyDoc_STRVAR(check_limits_doc,
             "check_limits($self, key, cost=1, *, capacity=None, burst=None, undelayed=None, "
             "at_ns=None)\n--\n\n"
             "check(), and a list of results: of each limit of the rule that counts the key.");
/* Results of single limits, which have charged nothing of their own. */
static PyObject *
result_list(struct rule *self, const struct rl_result *each, size_t count, uint64_t now_ns)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < count; i++) {
		struct result *one = result_new(self);
		if (one) {
			one->r = each[i];
			one->now_ns = now_ns;
		}
		if (!one || PyList_Append(list, (PyObject *)one) < 0)
			Py_CLEAR(list);
		Py_XDECREF((PyObject *)one);
	}
	return list;
}

static PyObject *
rule_check_limits(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {ITEM_NAMES, "at_ns", NULL};
	static const struct arguments a = {"check_limits", all, 2, 1};
	struct rl_item item = {.rule = RULE(self)->handle};
	PyObject *given[ITEM_ARGUMENTS + 1], *whole, *list;
	struct rl_result each[RL_LIMITS_MAX];
	struct result *result;
	size_t limits = 0;
	struct key key;
	struct rl *rl;

	if (arguments_read(&a, args, count, names, given) < 0 || item_read(given, &item, &key) < 0)
		return NULL;
	result = result_new(RULE(self));
	rl = result ? segment_at(RULE(self)->segment, given[ITEM_ARGUMENTS], &result->now_ns)
	            : NULL;
	if (rl) {
		item.charges = &result->charges;
		item.now_ns = result->now_ns;
		rl_check_limits(rl, &item, &result->r, &limits, each);
		result_hold(result);
	}
	key_drop(&key);
	if (!rl) {
		Py_XDECREF((PyObject *)result);
		return NULL;
	}
	list = result_list(RULE(self), each, limits, result->now_ns);
	whole = list ? result_finish(result) : (Py_DECREF((PyObject *)result), NULL);
	return whole ? Py_BuildValue("(NN)", whole, list) : (Py_XDECREF(list), NULL);
}

static PyObject *
rule_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<rl.Rule %U>", RULE(self)->name);
}

static PyMemberDef members[] = {
	{"name", T_OBJECT_EX, offsetof(struct rule, name), READONLY, "the rule's name"},
	{"segment", T_OBJECT_EX, offsetof(struct rule, segment), READONLY, "the segment it is of"},
	{"handle", T_INT, offsetof(struct rule, handle), READONLY,
         "the number that librl's calls take"},
	{NULL, 0, 0, 0, NULL},
};

#define FAST(function) ((PyCFunction)(void (*)(void))(function)), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
	{"check", FAST(rule_check), check_doc},
	{"_admits", (PyCFunction)(void (*)(void))rule_admits, METH_FASTCALL, admits_doc},
	{"_used", (PyCFunction)(void (*)(void))rule_used, METH_FASTCALL, used_doc},
	{"check_limits", FAST(rule_check_limits), check_limits_doc},
	{"peek", FAST(rule_peek), peek_doc},
	{"reserve", FAST(rule_reserve), reserve_doc},
	{"allows", (PyCFunction)(void (*)(void))rule_allows, METH_FASTCALL, allows_doc},
	{"refund_key", FAST(rule_refund_key), refund_key_doc},
	{"reset", rule_reset, METH_O, reset_doc},
	{"entries", FAST(rule_entries), entries_doc},
	{"limits", rule_limits, METH_NOARGS, limits_doc},
	{"stats", rule_stats, METH_NOARGS, stats_doc},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "A rule of a segment: see Segment.rule(). Any thread may use it."},
	{Py_tp_dealloc, rule_dealloc},
	{Py_tp_repr, rule_repr},
	{Py_tp_members, members},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec rule_spec = {
	.name = "rl.Rule",
	.basicsize = sizeof(struct rule),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
