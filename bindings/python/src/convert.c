/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "rlpy.h"

/*
 * UTF-8, as librl and other languages have it. A str that is not all Unicode, as os.fsdecode()
 * makes of other bytes, is those bytes again.
 */
static int
text_bytes(PyObject *text, struct key *key)
{
	Py_ssize_t len;
	char *bytes;

	key->bytes = PyUnicode_AsUTF8AndSize(text, &len);
	if (!key->bytes) {
		PyErr_Clear();
		key->owner = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
		if (!key->owner) {
			PyErr_Clear();
			key->owner = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
		}
		if (!key->owner || PyBytes_AsStringAndSize(key->owner, &bytes, &len) < 0)
			return -1;
		key->bytes = bytes;
	}
	key->len = (size_t)len;
	return 0;
}

/* A copy, for what can change under our hands. */
static int
buffer_bytes(PyObject *object, struct key *key)
{
	Py_ssize_t len;
	char *bytes;

	if (!PyBytes_Check(object)) {
		key->owner = PyBytes_FromObject(object);
		if (!key->owner)
			return -1;
		object = key->owner;
	}
	if (PyBytes_AsStringAndSize(object, &bytes, &len) < 0)
		return -1;
	key->bytes = bytes;
	key->len = (size_t)len;
	return 0;
}

static int
is_buffer(PyObject *object)
{
	return PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object);
}

int
key_get(PyObject *object, struct key *key)
{
	int error;

	key->owner = NULL;
	if (PyUnicode_Check(object)) {
		error = text_bytes(object, key);
	} else if (is_buffer(object)) {
		error = buffer_bytes(object, key);
	} else {
		PyErr_Format(PyExc_TypeError, "key: expected str or bytes, got %R",
		             (PyObject *)Py_TYPE(object));
		return -1;
	}
	if (error == 0 && key->len > RL_KEY_MAX) {
		key->len = rl_key_digest(key->bytes, key->len, key->digest);
		key->bytes = key->digest;
	}
	if (error < 0)
		Py_CLEAR(key->owner);
	return error;
}

/* The exception that was raised, with the name of what it is about. */
static int
wrong(PyObject *object, const char *name, const char *wanted)
{
	PyErr_Clear();
	PyErr_Format(PyIndex_Check(object) ? PyExc_ValueError : PyExc_TypeError,
	             "%s: expected %s, got %R", name, wanted, object);
	return -1;
}

int
u64_get(PyObject *object, const char *name, uint64_t *value)
{
	PyObject *number;

	if (!object || object == Py_None)
		return 0;
	number = PyNumber_Index(object);
	if (!number)
		return wrong(object, name, "an integer");
	unsigned long long got = PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (got == (unsigned long long)-1 && PyErr_Occurred())
		return wrong(object, name, "an integer from 0 to 2**64 - 1");
	*value = got;
	return 0;
}

int
u32_get(PyObject *object, const char *name, uint32_t *value)
{
	uint64_t wide = *value;

	if (u64_get(object, name, &wide) < 0)
		return -1;
	if (wide > UINT32_MAX)
		return wrong(object, name, "an integer from 0 to 4294967295");
	*value = (uint32_t)wide;
	return 0;
}

int
i64_get(PyObject *object, const char *name, int64_t *value)
{
	PyObject *number;

	if (!object || object == Py_None)
		return 0;
	number = PyNumber_Index(object);
	if (!number)
		return wrong(object, name, "an integer");
	long long got = PyLong_AsLongLong(number);
	Py_DECREF(number);
	if (got == -1 && PyErr_Occurred())
		return wrong(object, name, "an integer from -2**63 to 2**63 - 1");
	*value = got;
	return 0;
}

/* datetime.timedelta, which has microseconds. */
static struct rlb_value
delta_value(PyObject *object)
{
	PyObject *seconds = PyObject_CallMethod(object, "total_seconds", NULL);
	double number = seconds ? PyFloat_AsDouble(seconds) : -1;

	Py_XDECREF(seconds);
	PyErr_Clear();
	return number >= 0 ? (struct rlb_value){.kind = RLB_NS,
	                                        .ns = (uint64_t)(number * 1e6 + 0.5) * 1000}
	                   : (struct rlb_value){.kind = RLB_OTHER};
}

static struct rlb_value
integer_value(PyObject *object)
{
	PyObject *number = PyNumber_Index(object);
	struct rlb_value v = {.kind = RLB_OTHER};

	if (number) {
		v = (struct rlb_value){.kind = RLB_INTEGER, .integer = PyLong_AsLongLong(number)};
		if (v.integer == -1 && PyErr_Occurred()) {
			PyErr_Clear();
			v = (struct rlb_value){.kind = RLB_NS,
			                       .ns = PyLong_AsUnsignedLongLong(number)};
			if (PyErr_Occurred())
				v.kind = RLB_OTHER;
		}
		Py_DECREF(number);
	}
	PyErr_Clear();
	return v;
}

struct rlb_value
value_of(PyObject *object)
{
	struct rlb_value v = {.kind = RLB_OTHER};
	Py_ssize_t len;

	if (object == Py_None) {
		v = (struct rlb_value){.kind = RLB_NS, .ns = RL_NEVER_NS};
	} else if (PyBool_Check(object)) {
		v = (struct rlb_value){.kind = RLB_FLAG, .integer = object == Py_True};
	} else if (PyUnicode_Check(object)) {
		v.words = PyUnicode_AsUTF8AndSize(object, &len);
		if (v.words)
			v.kind = RLB_WORDS;
		v.len = v.words ? (size_t)len : 0;
		PyErr_Clear();
	} else if (PyFloat_Check(object)) {
		v = (struct rlb_value){.kind = RLB_REAL, .real = PyFloat_AsDouble(object)};
	} else {
		v = PyIndex_Check(object) ? integer_value(object) : delta_value(object);
	}
	return v;
}

int
seconds_get(PyObject *object, const char *name, uint64_t *ns)
{
	struct rlb_value v;

	if (!object)
		return 0;
	v = value_of(object);
	if (rlb_value_ns(&v, ns) == 0)
		return 0;
	PyErr_Format(v.kind == RLB_OTHER ? PyExc_TypeError : PyExc_ValueError,
	             "%s: expected seconds from 0, a timedelta, a duration such as '10m', or None "
	             "for no end, got %R",
	             name, object);
	return -1;
}

void
show_value(void *dict, const char *name, const struct rlb_value *v)
{
	PyObject *value = v->kind == RLB_WORDS  ? PyUnicode_FromString(v->words)
	                  : v->kind == RLB_FLAG ? PyBool_FromLong(v->integer != 0)
	                  : v->kind == RLB_NS   ? PyLong_FromUnsignedLongLong(v->ns)
	                                        : PyLong_FromLongLong(v->integer);

	if (value)
		PyDict_SetItemString(dict, name, value);
	Py_XDECREF(value);
}

/* An exception on the way is that of the dict. */
PyObject *
shown(PyObject *dict)
{
	if (PyErr_Occurred())
		Py_CLEAR(dict);
	return dict;
}

PyObject *
seconds_from(uint64_t ns)
{
	return PyFloat_FromDouble(ns == RL_NEVER_NS ? (double)INFINITY : (double)ns / 1e9);
}

static int
place_of(const struct arguments *a, PyObject *name)
{
	for (int i = 0; a->names[i]; i++)
		if (PyUnicode_CompareWithASCIIString(name, a->names[i]) == 0)
			return i;
	PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", a->function, name);
	return -1;
}

static int
named_read(const struct arguments *a, PyObject *const *values, PyObject *names, PyObject **out)
{
	Py_ssize_t count = PyTuple_Size(names);

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *name = PyTuple_GetItem(names, i);
		int place = place_of(a, name);

		if (place < 0)
			return -1;
		if (out[place]) {
			PyErr_Format(PyExc_TypeError, "%s() got '%U' twice", a->function, name);
			return -1;
		}
		out[place] = values[i];
	}
	return 0;
}

int
arguments_read(const struct arguments *a, PyObject *const *args, Py_ssize_t count, PyObject *names,
               PyObject **out)
{
	if (count > a->positional) {
		PyErr_Format(PyExc_TypeError,
		             "%s() takes at most %d arguments without a name, got %zd", a->function,
		             a->positional, count);
		return -1;
	}
	for (int i = 0; a->names[i]; i++)
		out[i] = i < count ? args[i] : NULL;
	if (names && named_read(a, args + count, names, out) < 0)
		return -1;
	for (int i = 0; i < a->required; i++) {
		if (out[i])
			continue;
		PyErr_Format(PyExc_TypeError, "%s() needs '%s'", a->function, a->names[i]);
		return -1;
	}
	return 0;
}

static int
is_said(PyObject *argument)
{
	return argument && argument != Py_None;
}

int
item_read(PyObject *const *arguments, struct rl_item *item, struct key *key)
{
	item->cost = 1;
	if (u64_get(arguments[ITEM_COST], "cost", &item->cost) < 0 ||
	    u32_get(arguments[ITEM_CAPACITY], "capacity", &item->capacity) < 0 ||
	    u32_get(arguments[ITEM_BURST], "burst", &item->burst) < 0 ||
	    u32_get(arguments[ITEM_UNDELAYED], "undelayed", &item->undelayed) < 0 ||
	    key_get(arguments[ITEM_KEY], key) < 0)
		return -1;
	item->flags = (is_said(arguments[ITEM_BURST]) ? RL_ITEM_BURST : 0U) |
	              (is_said(arguments[ITEM_UNDELAYED]) ? RL_ITEM_UNDELAYED : 0U);
	item->key = key->bytes;
	item->key_len = key->len;
	return 0;
}
