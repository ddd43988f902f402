/* SPDX-License-Identifier: BSD-2-Clause */
/* The module rl._rl: its types, and what is asked without a segment. */
#include <rl_admin.h>

#include "rlpy.h"
#include "words.h"

PyDoc_STRVAR(digest_doc, "key_digest($module, key, /)\n--\n\nWhat stands for a key that is longer "
                         "than KEY_MAX bytes.");
static PyObject *
key_digest(PyObject *module, PyObject *object)
{
	char text[RL_KEY_DIGEST_SIZE];
	PyObject *bytes = PyUnicode_Check(object)
	                          ? PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape")
	                          : PyBytes_FromObject(object);
	Py_ssize_t len;
	char *key;

	(void)module;
	if (!bytes || PyBytes_AsStringAndSize(bytes, &key, &len) < 0)
		return NULL;
	rl_key_digest(key, (size_t)len, text);
	Py_DECREF(bytes);
	return PyUnicode_FromString(text);
}

PyDoc_STRVAR(limit_of_key_doc,
             "_limit_of_key($module, key, seconds)\n--\n\n"
             "(amount, expiry) of a key that ends in /AMOUNT/MULTIPLES/NAME, with the seconds of\n"
             "each name in a dict; or None.");
static PyObject *
limit_of_key(PyObject *module, PyObject *args)
{
	struct key_limit limit;
	PyObject *key, *seconds;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO!:_limit_of_key", &key, &PyDict_Type, &seconds))
		return NULL;
	if (!key_limit_get(key, seconds, &limit))
		return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
	return Py_BuildValue("(IK)", limit.amount, (unsigned long long)limit.expiry);
}

PyDoc_STRVAR(error_symbol_doc, "_error_symbol($module, errno, /)\n--\n\n"
                               "The name of the error in rl.h, or in errno.h.");
static PyObject *
error_symbol(PyObject *module, PyObject *number)
{
	char digits[RLB_ERROR_SIZE];
	uint32_t error = 0;

	(void)module;
	if (u32_get(number, "errno", &error) < 0)
		return NULL;
	return PyUnicode_FromString(rlb_error((int)error, digits));
}

PyDoc_STRVAR(unlink_doc, "unlink($module, name, /)\n--\n\n"
                         "Remove a segment's name. Who has it open keeps it until it is closed.");
static PyObject *
unlink_segment(PyObject *module, PyObject *args)
{
	const char *name;
	int error;

	if (!PyArg_ParseTuple(args, "s:unlink", &name))
		return NULL;
	error = rl_unlink(name);
	if (error < 0)
		return raise_error(PyModule_GetState(module), error, name);
	return Py_NewRef(Py_None);
}

static PyObject *
problem(PyObject *module, PyObject *status)
{
	(void)module;
	return problem_of(NULL, status);
}

PyDoc_STRVAR(place_doc,
             "place($module, name='default', /)\n--\n\n"
             "Where a segment is or would be: a dict with the fields of struct rl_place.");
static PyObject *
place(PyObject *module, PyObject *args)
{
	const char *name = NULL;
	struct rl_place p;
	int error;

	if (!PyArg_ParseTuple(args, "|z:place", &name))
		return NULL;
	error = rl_place(name, NULL, &p);
	if (error < 0)
		return raise_error(PyModule_GetState(module), error, name);
	return Py_BuildValue(
		"{s:s,s:O,s:O,s:K,s:K,s:K,s:s,s:I,s:I,s:I,s:I}", "path", p.path, "is_there",
		p.is_there ? Py_True : Py_False, "is_own", p.is_own ? Py_True : Py_False, "bytes",
		(unsigned long long)p.bytes, "room", (unsigned long long)p.room, "memory",
		(unsigned long long)p.memory, "memory_by", p.memory_by, "layout", p.layout,
		"revision", p.revision, "own_layout", p.own_layout, "own_revision", p.own_revision);
}

static int
add_new(PyObject *module, const char *name, PyObject *object)
{
	int error = object ? PyModule_AddObjectRef(module, name, object) : -1;

	Py_XDECREF(object);
	return error;
}

static int
add_constants(PyObject *module)
{
	return PyModule_AddStringConstant(module, "__version__", RL_VERSION) < 0 ||
	                       add_new(module, "NEVER_NS",
	                               PyLong_FromUnsignedLongLong(RL_NEVER_NS)) < 0 ||
	                       PyModule_AddIntConstant(module, "KEY_MAX", RL_KEY_MAX) < 0 ||
	                       PyModule_AddIntConstant(module, "CAPACITY_MAX", RL_CAPACITY_MAX) <
	                               0 ||
	                       PyModule_AddIntConstant(module, "LOG_MAX", RL_LOG_MAX) < 0 ||
	                       PyModule_AddIntConstant(module, "GRANULARITY_MAX",
	                                               RL_GRANULARITY_MAX) < 0 ||
	                       add_new(module, "COUNT_MAX",
	                               PyLong_FromUnsignedLongLong(RL_COUNT_MAX)) < 0
	               ? -1
	               : 0;
}

static int
add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **type)
{
	*type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
	return *type ? PyModule_AddObjectRef(module, name, (PyObject *)*type) : -1;
}

static int
add_types(PyObject *module, struct state *state)
{
	state->count = PyStructSequence_NewType(&count_desc);
	return !state->count ||
	                       PyModule_AddObjectRef(module, "Count", (PyObject *)state->count) <
	                               0 ||
	                       add_type(module, "Segment", &segment_spec, &state->segment) < 0 ||
	                       add_type(module, "Rule", &rule_spec, &state->rule) < 0 ||
	                       add_type(module, "Result", &result_spec, &state->result) < 0 ||
	                       add_type(module, "Counters", &counters_spec, &state->counters) < 0 ||
	                       add_type(module, "Proxies", &proxies_spec, &state->proxies) < 0
	               ? -1
	               : 0;
}

/* The words of a field of results; a later library may have more. */
static int
intern(PyObject **to, uint64_t count, const char *name)
{
	const struct rl_field *field = rl_field_find(RL_OF_RESULT, name, strlen(name));

	for (uint64_t i = 0; i < count && i <= field->most; i++) {
		to[i] = PyUnicode_InternFromString(field->words[i]);
		if (!to[i])
			return -1;
	}
	return 0;
}

/* Exceptions are written in Python, for they are several things at once. */
static int
module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);
	PyObject *errors = PyImport_ImportModule("rl._errors");

	state->error_of = errors ? PyObject_GetAttrString(errors, "error_of") : NULL;
	Py_XDECREF(errors);
	return !state->error_of || intern(state->verdicts, VERDICTS, "verdict") < 0 ||
	                       intern(state->reasons, REASONS, "reason") < 0 ||
	                       add_constants(module) < 0 || add_types(module, state) < 0
	               ? -1
	               : 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *state = PyModule_GetState(module);

	Py_VISIT(state->error_of);
	Py_VISIT(state->segment);
	Py_VISIT(state->rule);
	Py_VISIT(state->result);
	Py_VISIT(state->counters);
	Py_VISIT(state->count);
	Py_VISIT(state->proxies);
	return 0;
}

static int
module_clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	Py_CLEAR(state->error_of);
	Py_CLEAR(state->segment);
	Py_CLEAR(state->rule);
	Py_CLEAR(state->result);
	Py_CLEAR(state->counters);
	Py_CLEAR(state->count);
	Py_CLEAR(state->proxies);
	for (int i = 0; i < VERDICTS; i++)
		Py_CLEAR(state->verdicts[i]);
	for (int i = 0; i < REASONS; i++)
		Py_CLEAR(state->reasons[i]);
	return 0;
}

static void
module_free(void *module)
{
	module_clear(module);
}

static PyMethodDef functions[] = {
	{"key_digest", key_digest, METH_O, digest_doc},
	{"_limit_of_key", limit_of_key, METH_VARARGS, limit_of_key_doc},
	{"parse_rate", parse_rate, METH_O, parse_rate_doc},
	{"_duration_ns", duration_ns, METH_VARARGS, duration_ns_doc},
	{"_check_limits", check_limits_of, METH_O, check_limits_of_doc},
	{"_error_symbol", error_symbol, METH_O, error_symbol_doc},
	{"unlink", unlink_segment, METH_VARARGS, unlink_doc},
	{"place", place, METH_VARARGS, place_doc},
	{"_problem", problem, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
	{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
	{Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
	{0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "rl._rl",
	.m_doc = "librl's calls. Programs import rl.",
	.m_size = sizeof(struct state),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__rl(void);

PyMODINIT_FUNC
PyInit__rl(void)
{
	return PyModuleDef_Init(&definition);
}
