/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits, rates and durations as programs say them. */
#include <errno.h>

#include "limit.h"
#include "rlpy.h"
#include "text.h"

/* Who names a field that is none has made another mistake than who gives one a wrong value. */
static int
refuse(const char *why, PyObject *name, PyObject *value)
{
	Py_ssize_t len;
	const char *text = PyUnicode_AsUTF8AndSize(name, &len);

	if (text && !rl_field_find(RL_OF_LIMIT, text, (size_t)len) && strcmp(text, "limit") != 0)
		PyErr_SetString(PyExc_TypeError, why);
	else if (!PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "%s, got %R", why, value);
	return -1;
}

static int
limit_read(PyObject *fields, uint32_t ring, struct rl_limit *limit)
{
	struct rlb_limit l = {0};
	char why[RLB_TEXT_SIZE];
	PyObject *name, *value;
	Py_ssize_t at = 0, len;
	const char *text;

	if (!PyDict_Check(fields)) {
		PyErr_Format(PyExc_TypeError, "limit: expected a dict, got %R", fields);
		return -1;
	}
	while (PyDict_Next(fields, &at, &name, &value)) {
		struct rlb_value v = value_of(value);

		text = PyUnicode_AsUTF8AndSize(name, &len);
		if (!text)
			return -1;
		if (rlb_limit_set(&l, text, (size_t)len, &v, why) < 0)
			return refuse(why, name, value);
	}
	if (rlb_limit_finish(&l, ring, why) < 0) {
		PyErr_SetString(PyExc_ValueError, why);
		return -1;
	}
	*limit = l.limit;
	return 0;
}

int
limits_read(PyObject *tuple, uint32_t ring, struct rl_rule *rule,
            struct rl_limit more[RL_LIMITS_MAX])
{
	Py_ssize_t count = PyTuple_Size(tuple);

	if (count < 1 || count > RL_LIMITS_MAX) {
		PyErr_Format(PyExc_ValueError, "limits: %zd; 1 to %d are allowed", count,
		             RL_LIMITS_MAX);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++)
		if (limit_read(PyTuple_GetItem(tuple, i), ring,
		               i == 0 ? &rule->limit : &more[i - 1]) < 0)
			return -1;
	rule->more = more;
	rule->more_count = (size_t)count - 1;
	return 0;
}

const char check_limits_of_doc[] =
	"_check_limits($module, limits)\n--\n\n"
	"Raise what is wrong with a tuple of dicts, in whatever segment.";
PyObject *
check_limits_of(PyObject *module, PyObject *tuple)
{
	struct rl_limit more[RL_LIMITS_MAX];
	struct rl_rule rule = {0};

	(void)module;
	if (!PyTuple_Check(tuple) || limits_read(tuple, RL_RING_MAX, &rule, more) < 0)
		return NULL;
	return Py_NewRef(Py_None);
}

const char parse_rate_doc[] =
	"parse_rate($module, text, /)\n--\n\n"
	"(capacity, window_ns) of '5/min', '300/5min' or '5/1h30m', as rl.json(5) writes it.";
PyObject *
parse_rate(PyObject *module, PyObject *text)
{
	struct rlb_value v = value_of(text);
	uint64_t window_ns;
	uint32_t capacity;

	(void)module;
	if (v.kind == RLB_WORDS && rlb_rate(v.words, v.len, &capacity, &window_ns) == 0)
		return Py_BuildValue("(IK)", capacity, (unsigned long long)window_ns);
	return PyErr_Format(PyExc_ValueError,
	                    "limit: expected a rate such as \"100/min\" or \"5/10s\", got %R",
	                    text);
}

const char duration_ns_doc[] =
	"_duration_ns($module, value, name)\n--\n\n"
	"Nanoseconds of seconds, a timedelta, or a text such as '10m'. None has no end.";
PyObject *
duration_ns(PyObject *module, PyObject *args)
{
	const char *name;
	PyObject *value;
	uint64_t ns = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "Os:_duration_ns", &value, &name) ||
	    seconds_get(value, name, &ns) < 0)
		return NULL;
	return PyLong_FromUnsignedLongLong(ns);
}
