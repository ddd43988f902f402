/* SPDX-License-Identifier: BSD-2-Clause */
/* Result: what librl decided about a request, and what it charged. */
#include <rl_http.h>
#include <unistd.h>

#include "headers.h"
#include "rlpy.h"
#include "words.h"

#define FIELD_SIZE 256 /* of a header field with one item: a name of 63 bytes, and 40 more */

struct result *
result_new(struct rule *rule)
{
	struct result *result = PyObject_New(struct result, rule->state->result);

	if (!result)
		return NULL;
	result->rule = (struct rule *)Py_NewRef((PyObject *)rule);
	result->held = 0;
	result->now_ns = 0;
	result->charges.count = 0;
	return result;
}

/* An empty key limits nobody: that is an error here, and not a yes. */
PyObject *
result_finish(struct result *result)
{
	struct state *state = result->rule->state;

	if (result->r.error == RL_EEMPTY) {
		Py_DECREF(result);
		return raise_error(state, RL_EEMPTY, "key");
	}
	return (PyObject *)result;
}

/*
 * Units in flight are moved to the end of the array, where refunds do not see them. They go back
 * when nothing refers to the result any more; but not in a child of fork(), where they are the
 * parent's.
 */
void
result_hold(struct result *self)
{
	struct rl_hold holds[RL_LIMITS_MAX];

	self->held = (unsigned)rl_holds(&self->charges, holds, RL_LIMITS_MAX);
	for (unsigned i = 0; i < self->held; i++)
		self->charges.charge[RL_LIMITS_MAX - 1 - i] = holds[i].charge;
	if (self->held > 0)
		self->pid = getpid();
}

/* What could not be given back is still held. */
static int
release(struct result *self)
{
	struct rl_hold holds[RL_LIMITS_MAX];
	struct rl *rl = self->rule->segment->s.rl;
	int done;

	if (!rl || self->held == 0)
		return 0;
	for (unsigned i = 0; i < self->held; i++)
		holds[i].charge = self->charges.charge[RL_LIMITS_MAX - 1 - i];
	done = rl_release(rl, holds, self->held);
	for (unsigned i = 0; i < self->held; i++)
		self->charges.charge[RL_LIMITS_MAX - 1 - i] = holds[i].charge;
	if (done >= 0)
		self->held = 0;
	return done;
}

static void
result_dealloc(PyObject *object)
{
	struct result *self = (struct result *)object;
	PyTypeObject *type = Py_TYPE(object);

	if (self->held > 0 && self->pid == getpid())
		release(self);
	Py_DECREF(self->rule);
	PyObject_Free(object);
	Py_DECREF(type);
}

static int
result_bool(PyObject *object)
{
	return ((struct result *)object)->r.verdict == RL_ALLOWED;
}

#define RESULT(object) (&((struct result *)(object))->r)

static PyObject *
get_verdict(PyObject *self, void *closure)
{
	(void)closure;
	return Py_NewRef(((struct result *)self)->rule->state->verdicts[RESULT(self)->verdict]);
}

static PyObject *
get_reason(PyObject *self, void *closure)
{
	enum rl_reason reason = RESULT(self)->reason;

	(void)closure;
	return Py_NewRef(
		((struct result *)self)->rule->state->reasons[reason < REASONS ? reason : 0]);
}

static PyObject *
get_error(PyObject *self, void *closure)
{
	int error = RESULT(self)->error;
	char why[RLB_WHY_SIZE];

	(void)closure;
	if (error == 0)
		return Py_NewRef(Py_None);
	return PyObject_CallFunction(((struct result *)self)->rule->state->error_of, "is", -error,
	                             rlb_why(error, why));
}

static PyObject *
get_shadow(PyObject *self, void *closure)
{
	(void)closure;
	return PyBool_FromLong(RESULT(self)->is_shadow_denied);
}

static PyObject *
get_seconds(PyObject *self, void *offset)
{
	return seconds_from(*(const uint64_t *)((const char *)RESULT(self) + (size_t)offset));
}

/* A denial that does not know when: of what is in flight. */
static PyObject *
get_retry_after(PyObject *self, void *closure)
{
	const struct rl_result *r = RESULT(self);

	(void)closure;
	if (r->verdict == RL_UNDECIDED || (r->verdict == RL_DENIED && r->retry_after_ns == 0))
		return Py_NewRef(Py_None);
	return seconds_from(r->retry_after_ns);
}

/* The name and the policy that header fields tell. */
static int
policy_of(const struct result *self, struct rl_rule_info *info, struct rl_http_policy *policy)
{
	const struct rl_result *r = &self->r;

	if (rl_rule_info(self->rule->segment->s.rl, self->rule->handle, info) != 1)
		return 0; /* removed meanwhile */
	const struct rl_algorithm_info *algorithm =
		rl_algorithm_info(info->limits[r->index].algorithm);
	int is_bucket = algorithm && (algorithm->flags & RL_IS_BUCKET);
	*policy = (struct rl_http_policy){.name = info->name,
	                                  .quota = is_bucket ? info->limits[r->index].capacity
	                                                     : r->limit,
	                                  .window_ns = r->window_ns};
	if (algorithm && algorithm->flags & RL_IS_HELD)
		policy->unit = "concurrent-requests";
	return 1;
}

static int
put_field(PyObject *fields, const char *name, ssize_t len, const char *text)
{
	if (len <= 0 || text[0] == '\0')
		return 0;
	PyObject *pair = Py_BuildValue("(ss)", name, text);
	int error = pair ? PyList_Append(fields, pair) : -1;
	Py_XDECREF(pair);
	return error;
}

static int
put_standard(const struct result *self, enum rl_http_set set, PyObject *fields)
{
	struct rl_rule_info info;
	struct rl_http_policy policy;
	char text[FIELD_SIZE];
	struct rl_http_limit limit = {.name = info.name, .result = &self->r};

	if (!policy_of(self, &info, &policy))
		return 0;
	ssize_t len = rl_http_ratelimit_policy(set, &policy, 1, text, sizeof text);
	if (put_field(fields, "RateLimit-Policy", len, text) < 0)
		return -1;
	len = rl_http_ratelimit(set, &limit, 1, text, sizeof text);
	return put_field(fields, "RateLimit", len, text);
}

static int
put_older(const struct result *self, enum rl_http_reset reset, PyObject *fields)
{
	struct rl_http_triple triple;

	if (rl_http_x_ratelimit(&self->r, reset, self->now_ns, &triple) != 1)
		return 0;
	return put_field(fields, "X-RateLimit-Limit", 1, triple.limit) < 0 ||
	                       put_field(fields, "X-RateLimit-Remaining", 1, triple.remaining) <
	                               0 ||
	                       put_field(fields, "X-RateLimit-Reset", 1, triple.reset) < 0
	               ? -1
	               : 0;
}

/* True, False or a word. The set, or -1: none. */
static int
take_set(PyObject *given, void *to)
{
	int *set = to;

	if (!PyUnicode_Check(given)) {
		*set = PyObject_IsTrue(given) ? RL_HTTP_IETF_11 : -1;
		return !PyErr_Occurred();
	}
	const char *word = PyUnicode_AsUTF8AndSize(given, NULL);
	*set = rl_http_set(word);
	if (word && *set < 0)
		PyErr_Format(PyExc_ValueError,
		             "standard: expected 'ietf', 'ietf-11' or 'ietf-7', got %R", given);
	return *set >= 0;
}

PyDoc_STRVAR(
	headers_doc,
	"headers($self, *, standard=True, older=False, unix_reset=True)\n--\n\n"
	"The header fields of an answer as a list of (name, value): Retry-After if there is\n"
	"one; with `standard` RateLimit-Policy and RateLimit, as the latest draft has them or as\n"
	"'ietf-11' or 'ietf-7' says; with `older` X-RateLimit-Limit,\n"
	"-Remaining and -Reset. Their reset is Unix time, or with unix_reset=False seconds\n"
	"from now. Nothing is told of a request that was not decided by a limit.");
static PyObject *
result_headers(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"standard", "older", "unix_reset", NULL};
	struct result *self = (struct result *)object;
	int set = RL_HTTP_IETF_11, older = 0, unix_reset = 1;
	char text[RL_HTTP_SECONDS_SIZE];

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O&pp:headers", names, take_set, &set,
	                                 &older, &unix_reset) ||
	    !segment_enter(self->rule->segment))
		return NULL;
	PyObject *fields = PyList_New(0);
	ssize_t len = rl_http_retry_after(&self->r, text, sizeof text);
	if (!fields || put_field(fields, "Retry-After", len, text) < 0 ||
	    (self->r.limit > 0 && set >= 0 &&
	     put_standard(self, (enum rl_http_set)set, fields) < 0) ||
	    (self->r.limit > 0 && older &&
	     put_older(self, unix_reset ? RL_HTTP_RESET_UNIX : RL_HTTP_RESET_DELTA, fields) < 0))
		Py_CLEAR(fields);
	segment_leave(self->rule->segment);
	return fields;
}

/* The body of a refusal; without a result nothing could be decided. */
PyObject *
problem_of(const struct result *of, PyObject *status)
{
	const char *name = of ? PyUnicode_AsUTF8AndSize(of->rule->name, NULL) : NULL;
	unsigned long number = PyLong_AsUnsignedLong(status);
	char text[RL_HTTP_PROBLEM_SIZE];

	if (PyErr_Occurred())
		return NULL;
	if (number > 599 || rlb_problem(name, of ? &of->r : NULL, (unsigned)number, text) < 0)
		return PyErr_Format(PyExc_ValueError, "status: expected 100 to 599, got %R",
		                    status);
	return PyUnicode_FromString(text);
}

PyDoc_STRVAR(problem_doc, "problem($self, status, /)\n--\n\n"
                          "The body of a refusal with that status, of the type\n"
                          "application/problem+json: what kind of refusal it is.");
static PyObject *
result_problem(PyObject *object, PyObject *status)
{
	return problem_of((struct result *)object, status);
}

PyDoc_STRVAR(refund_doc,
             "refund($self, *, holds=True, at_ns=None)\n--\n\n"
             "Give back what this request was charged: True, or False if it is too late\n"
             "or was done before. What is in flight is never too late; without `holds`\n"
             "it stays, for release().");
static PyObject *
result_refund(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"holds", "at_ns", NULL};
	struct result *self = (struct result *)object;
	PyObject *at = NULL;
	struct rl *rl;
	uint64_t now_ns;
	int holds = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pO:refund", names, &holds, &at) ||
	    !(rl = segment_at(self->rule->segment, at, &now_ns)))
		return NULL;
	self->charges.now_ns = now_ns;
	int released = holds ? release(self) : 0, done = rl_refund(rl, &self->charges);
	if (done < 0 || released < 0)
		return raise_error(self->rule->state, done < 0 ? done : released, NULL);
	return PyBool_FromLong(done || released);
}

PyDoc_STRVAR(settle_doc,
             "settle($self, actual, *, at_ns=None)\n--\n\n"
             "Say what this request has cost: less than was charged is given back, more is\n"
             "charged from now on, beyond the limit if need be. True, or False if nothing\n"
             "that counts has changed. Once: a second time raises rl.Error. What is in flight\n"
             "and limits that count requests are left alone.");
static PyObject *
result_settle(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"actual", "at_ns", NULL};
	struct result *self = (struct result *)object;
	PyObject *at = NULL, *given;
	struct rl *rl;
	uint64_t actual = UINT64_MAX; /* None is RL_EACTUAL, too */

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O:settle", names, &given, &at) ||
	    u64_get(given, "actual", &actual) < 0 ||
	    !(rl = segment_at(self->rule->segment, at, &self->charges.now_ns)))
		return NULL;
	int done = rl_settle(rl, &self->charges, actual);
	if (done < 0)
		return raise_error(self->rule->state, done, "actual");
	return PyBool_FromLong(done);
}

static PyObject *
get_charges(PyObject *object, void *closure)
{
	const struct rl_charges *charges = &((struct result *)object)->charges;

	(void)closure;
	return PyBytes_FromStringAndSize((const char *)charges->charge,
	                                 (Py_ssize_t)(charges->count * sizeof charges->charge[0]));
}

PyDoc_STRVAR(release_doc,
             "release($self)\n--\n\n"
             "Give back the units in flight that this request holds: True, or False if\n"
             "there are none. Charges of rates stay.");
static PyObject *
result_release(PyObject *object, PyObject *ignored)
{
	struct result *self = (struct result *)object;

	(void)ignored;
	if (!segment_rl(self->rule->segment))
		return NULL;
	int done = release(self);
	if (done < 0)
		return raise_error(self->rule->state, done, NULL);
	return PyBool_FromLong(done);
}

static PyObject *
result_enter(PyObject *self, PyObject *ignored)
{
	(void)ignored;
	return Py_NewRef(self);
}

/* A segment that was closed meanwhile has given back what was held. */
static PyObject *
result_exit(PyObject *self, PyObject *ignored)
{
	(void)ignored;
	int done = release((struct result *)self);
	if (done < 0)
		return raise_error(((struct result *)self)->rule->state, done, NULL);
	return Py_NewRef(Py_None);
}

static PyObject *
result_repr(PyObject *object)
{
	const struct result *self = (const struct result *)object;
	const struct rl_result *r = &self->r;

	if (r->verdict == RL_UNDECIDED)
		return PyUnicode_FromFormat("<rl.Result undecided by %U: %s>", self->rule->name,
		                            rl_strerror(r->error));
	return PyUnicode_FromFormat("<rl.Result %U by %U, %u of %u remaining>",
	                            self->rule->state->verdicts[r->verdict], self->rule->name,
	                            r->remaining, r->limit);
}

/*
 * By hand, and held against rl_result_fields.def by tests/house/lists.py: each has its own type in
 * Python and its own help().
 */
#define OFFSET(field) ((void *)offsetof(struct rl_result, field))
static PyGetSetDef getters[] = {
	{"verdict", get_verdict, NULL,
         "\"allowed\", \"denied\", \"never\" (the cost is above the capacity) or \"undecided\"",
         NULL},
	{"reason", get_reason, NULL,
         "what decided: \"limit\", \"ban\", \"exemption\", \"reserve\" or \"share\"", NULL},
	{"error", get_error, NULL, "None, or an rl.Error: why it is undecided, or was not limited",
         NULL},
	{"charges", get_charges, NULL,
         "what rates have charged it, as bytes: for Segment.settle() in another process", NULL},
	{"is_shadow_denied", get_shadow, NULL, "a shadow limit would have denied it", NULL},
	{"retry_after", get_retry_after, NULL,
         "seconds until the same request may be allowed: 0.0 now, inf never, None not known", NULL},
	{"reset_after", get_seconds, NULL, "seconds until nothing counts any more",
         OFFSET(reset_after_ns)},
	{"delay", get_seconds, NULL, "seconds that an allowed request is to wait",
         OFFSET(delay_ns)},
	{"window", get_seconds, NULL,
         "seconds of the limit's window as it is now; 0.0 if it has none", OFFSET(window_ns)},
	{NULL, NULL, NULL, NULL, NULL},
};

#define MEMBER(field, type, text)                                                             \
	{                                                                                     \
#field, type, offsetof(struct result, r) + offsetof(struct rl_result, field), \
			READONLY, text                                                        \
	}
static PyMemberDef members[] = {
	MEMBER(index, T_UINT, "of the limit that decided; the other fields describe it"),
	MEMBER(limit, T_UINT, "the largest cost that is ever allowed at once"),
	MEMBER(remaining, T_UINT, "cost still free"),
	MEMBER(used, T_UINT, "cost that counts now"),
	MEMBER(retry_after_ns, T_ULONGLONG, "as struct rl_result has it; NEVER_NS for never"),
	MEMBER(reset_after_ns, T_ULONGLONG, "nanoseconds"),
	MEMBER(delay_ns, T_ULONGLONG, "nanoseconds"),
	MEMBER(window_ns, T_ULONGLONG, "nanoseconds; NEVER_NS for a window without an end"),
	{"at_ns", T_ULONGLONG, offsetof(struct result, now_ns), READONLY,
         "when it was decided, Unix time"},
	{"_held", T_UINT, offsetof(struct result, held), READONLY, "how many units it holds"},
	{"rule", T_OBJECT_EX, offsetof(struct result, rule), READONLY, "the rule that was asked"},
	{NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
	{"headers", (PyCFunction)(void (*)(void))result_headers, METH_VARARGS | METH_KEYWORDS,
         headers_doc},
	{"problem", result_problem, METH_O, problem_doc},
	{"refund", (PyCFunction)(void (*)(void))result_refund, METH_VARARGS | METH_KEYWORDS,
         refund_doc},
	{"settle", (PyCFunction)(void (*)(void))result_settle, METH_VARARGS | METH_KEYWORDS,
         settle_doc},
	{"release", result_release, METH_NOARGS, release_doc},
	{"__enter__", result_enter, METH_NOARGS, NULL},
	{"__exit__", result_exit, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
         "What was decided about a request: true if it was allowed. As a context it holds units\n"
         "in flight until its end; they also go back when nothing refers to it any more."},
	{Py_tp_dealloc, result_dealloc},
	{Py_tp_repr, result_repr},
	{Py_nb_bool, result_bool},
	{Py_tp_getset, getters},
	{Py_tp_members, members},
	{Py_tp_methods, methods},
	{0, NULL},
};

PyType_Spec result_spec = {
	.name = "rl.Result",
	.basicsize = sizeof(struct result),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};
