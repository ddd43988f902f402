/* SPDX-License-Identifier: BSD-2-Clause */
/* Exceptions for errors of librl. */
#include "rlpy.h"
#include "words.h"

PyObject *
raise_text(const struct state *state, int error, PyObject *text)
{
	PyObject *exception =
		text ? PyObject_CallFunction(state->error_of, "iO", -error, text) : NULL;

	if (exception)
		PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
	Py_XDECREF(text);
	Py_XDECREF(exception);
	return NULL;
}

PyObject *
raise_error(const struct state *state, int error, const char *what)
{
	char why[RLB_WHY_SIZE];

	return raise_text(state, error,
	                  what ? PyUnicode_FromFormat("%s: %s", what, rlb_why(error, why))
	                       : PyUnicode_FromString(rlb_why(error, why)));
}
