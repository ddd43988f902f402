/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment(): how a segment is opened. */
#include <rl_cluster.h>
#include <string.h>

#include "options.h"
#include "rlpy.h"

struct opening {
	const char *name;
	struct rl_options options;
	int is_private;
};

/* Of a number, 0 is the default, and None asks for none at all where a segment may do without. */
static int
option_read(const char *name, Py_ssize_t len, PyObject *object, struct opening *o)
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, name, (size_t)len);
	struct rlb_value v = value_of(object);
	char why[RLB_TEXT_SIZE];
	int error;

	if (object == Py_None)
		v = (struct rlb_value){.kind = RLB_FLAG};
	if (field && (object == Py_None ? field->none == 0
	                                : v.kind == RLB_INTEGER && v.integer == 0 &&
	                                          strcmp(name, "group") != 0))
		return 0;
	error = rlb_option_set(&o->options, name, (size_t)len, &v, why);
	if (error >= 0)
		return error > 0 ? PyErr_WarnEx(PyExc_DeprecationWarning, why, 1) : 0;
	PyErr_Format(v.kind == RLB_OTHER ? PyExc_TypeError : PyExc_ValueError, "%s, got %R", why,
	             object);
	return -1;
}

static int
name_read(PyObject *object, struct opening *o)
{
	Py_ssize_t len;

	if (object == Py_None)
		return 0;
	if (!PyUnicode_Check(object)) {
		PyErr_Format(PyExc_TypeError, "name: expected a str, got %R", object);
		return -1;
	}
	o->name = PyUnicode_AsUTF8AndSize(object, &len);
	if (o->name && strlen(o->name) != (size_t)len)
		PyErr_SetString(PyExc_ValueError, "name: there is a NUL byte in it");
	return PyErr_Occurred() ? -1 : 0;
}

static int
named_read(const char *name, Py_ssize_t len, PyObject *object, struct opening *o)
{
	if (strcmp(name, "name") == 0)
		return name_read(object, o);
	if (strcmp(name, "private") != 0)
		return option_read(name, len, object, o);
	o->is_private = PyObject_IsTrue(object);
	return o->is_private < 0 ? -1 : 0;
}

static int
options_read(PyObject *args, PyObject *kwargs, struct opening *o)
{
	PyObject *name = Py_None, *key, *value;
	Py_ssize_t at = 0, len;
	const char *text;

	o->options = rlb_options;
	if (!PyArg_ParseTuple(args, "|O:Segment", &name) || name_read(name, o) < 0)
		return -1;
	while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
		text = PyUnicode_AsUTF8AndSize(key, &len);
		if (!text || named_read(text, len, value, o) < 0)
			return -1;
	}
	return 0;
}

static PyObject *
open_failed(const struct state *state, const struct opening *o, int error)
{
	const char *name = o->name ? o->name : "default";
	char why[RLB_OPEN_TEXT_SIZE];
	struct rl_place place;
	PyObject *what;

	rlb_open_why(error, o->name, &o->options, why);
	if (error != RL_ELESS && rl_place(o->name, &o->options, &place) == 0)
		what = PyUnicode_FromFormat("segment %s (%s): %s", name, place.path, why);
	else
		what = PyUnicode_FromFormat("segment %s: %s", name, why);
	return raise_text(state, error, what);
}

PyObject *
segment_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct opening o = {0};
	struct segment *self;
	int error;

	if (options_read(args, kwargs, &o) < 0)
		return NULL;
	self = PyObject_New(struct segment, type);
	if (!self)
		return NULL;
	self->state = PyType_GetModuleState(type);
	self->users = self->is_closing = 0;
	Py_BEGIN_ALLOW_THREADS if (o.is_private) error = rlb_open_private(&self->s, &o.options);
	else error = rlb_open(&self->s, o.name, &o.options);
	Py_END_ALLOW_THREADS;
	if (error == 0) {
		struct rl_cluster_info info;

		self->may_sleep = rl_cluster_info(self->s.rl, &info) == 0;
		return (PyObject *)self;
	}
	open_failed(self->state, &o, error);
	Py_DECREF(self);
	return NULL;
}
