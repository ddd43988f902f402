/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules and the spaces of counters of a segment. */
#include <errno.h>
#include <rl_admin.h>

#include "about.h"
#include "rlpy.h"

#define SEGMENT(object) ((struct segment *)(object))

/* An error of the rule itself says which field it is. */
static PyObject *
define_failed(const struct segment *self, const struct rl_rule *rule, const struct rl_info *info,
              int error)
{
	char text[RL_RULE_TEXT_SIZE];

	rl_rule_check(rule, &(struct rl_options){.ring = info->ring}, text, sizeof text);
	return text[0] ? raise_text(self->state, error, PyUnicode_FromString(text))
	               : raise_error(self->state, error, rule->name);
}

const char define_doc[] =
	"_define($self, name, limits, keep)\n--\n\nSegment.rule() without its words.";
PyObject *
segment_define(PyObject *object, PyObject *args)
{
	struct segment *self = SEGMENT(object);
	struct rl_limit more[RL_LIMITS_MAX];
	struct rl_rule rule = {0};
	struct rl_info info;
	PyObject *tuple;
	int keep, handle;
	struct rl *rl;

	if (!PyArg_ParseTuple(args, "sO!p:_define", &rule.name, &PyTuple_Type, &tuple, &keep) ||
	    !(rl = segment_enter(self)))
		return NULL;
	rl_info(rl, &info);
	if (limits_read(tuple, info.ring, &rule, more) < 0) {
		segment_leave(self);
		return NULL;
	}
	rule.flags = keep ? RL_DEFINE_KEEP : 0;
	Py_BEGIN_ALLOW_THREADS handle = rl_define(rl, &rule);
	Py_END_ALLOW_THREADS segment_leave(self);
	if (handle < 0)
		return define_failed(self, &rule, &info, handle);
	return (PyObject *)rule_new(self, handle, rule.name);
}

const char find_doc[] = "find($self, name, /)\n--\n\n"
			"The rule of that name, whoever defined or configured it. KeyError: none.";
PyObject *
segment_find(PyObject *object, PyObject *args)
{
	struct rl_rule_info info;
	const char *name;
	struct rl *rl;

	if (!PyArg_ParseTuple(args, "s:find", &name) || !(rl = segment_rl(SEGMENT(object))))
		return NULL;
	int handle = rl_find(rl, name);
	if (handle < 0 || rl_rule_info(rl, handle, &info) != 1 || !rlb_is_rule(&info))
		return PyErr_Format(PyExc_KeyError, "no rule %s", name);
	return (PyObject *)rule_new(SEGMENT(object), handle, name);
}

const char forget_doc[] =
	"forget($self, name, /)\n--\n\n"
	"Forget what applications have defined as the rule or space of that name. False:\n"
	"no application has. KeyError: there is none.";
PyObject *
segment_forget(PyObject *object, PyObject *args)
{
	struct rl *rl;
	const char *name;
	int done;

	if (!PyArg_ParseTuple(args, "s:forget", &name) || !(rl = segment_enter(SEGMENT(object))))
		return NULL;
	Py_BEGIN_ALLOW_THREADS done = rl_forget(rl, name);
	Py_END_ALLOW_THREADS segment_leave(SEGMENT(object));
	if (done == -ENOENT)
		return PyErr_Format(PyExc_KeyError, "no rule %s", name);
	return done < 0 ? raise_error(SEGMENT(object)->state, done, name) : PyBool_FromLong(done);
}

const char rules_doc[] = "rules($self)\n--\n\nThe names of all rules that limit something now.";
PyObject *
segment_rules(PyObject *object, PyObject *ignored)
{
	struct rl *rl = segment_enter(SEGMENT(object));
	PyObject *list = rl ? PyList_New(0) : NULL;
	struct rl_rule_info rule;
	uint32_t row = 0;

	(void)ignored;
	if (!rl)
		return NULL;
	while (list && rlb_next_rule(rl, &row, &rule)) {
		PyObject *name = PyUnicode_FromString(rule.name);
		if (!name || PyList_Append(list, name) < 0)
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	segment_leave(SEGMENT(object));
	return list;
}

const char counters_doc[] =
	"counters($self, name, /)\n--\n\n"
	"The space of counters by key of that name, which is made if it is not there.";
PyObject *
segment_counters(PyObject *object, PyObject *args)
{
	const char *name;
	struct rl *rl;
	int space;

	if (!PyArg_ParseTuple(args, "s:counters", &name) || !(rl = segment_enter(SEGMENT(object))))
		return NULL;
	Py_BEGIN_ALLOW_THREADS space = rl_define_counters(rl, name);
	Py_END_ALLOW_THREADS segment_leave(SEGMENT(object));
	if (space < 0)
		return raise_error(SEGMENT(object)->state, space, name);
	return counters_new(SEGMENT(object), space, name);
}
