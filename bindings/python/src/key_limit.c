/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the key of a limit says of it, as the library limits ends such keys:
 * "LIMITER/alice/10/2/minute".
 */
#include <stdlib.h>
#include <string.h>

#include "rlpy.h"

#define DIGITS_MAX 10

/* The number between two strokes; 0 if it is none. */
static unsigned long long
number_between(const char *from, const char *to)
{
	unsigned long long number = 0;

	if (to - from > DIGITS_MAX)
		return 0;
	for (; from < to; from++) {
		if (*from < '0' || *from > '9')
			return 0;
		number = number * 10 + (unsigned)(*from - '0');
	}
	return number;
}

/* Where each of the last three strokes is, the last first; false if there are fewer. */
static int
strokes(const char *text, Py_ssize_t len, const char *at[3])
{
	int found = 0;

	for (const char *c = text + len; c > text && found < 3; c--)
		if (c[-1] == '/')
			at[found++] = c - 1;
	return found == 3;
}

int
key_limit_get(PyObject *key, PyObject *seconds, struct key_limit *limit)
{
	const char *text = NULL, *at[3];
	unsigned long long amount, multiples;
	PyObject *value;
	Py_ssize_t len;

	if (PyUnicode_Check(key) && !(text = PyUnicode_AsUTF8AndSize(key, &len)))
		PyErr_Clear();
	if (!text || !strokes(text, len, at))
		return 0;
	amount = number_between(at[2] + 1, at[1]);
	multiples = number_between(at[1] + 1, at[0]);
	value = PyDict_GetItemString(seconds, at[0] + 1);
	if (!value || amount < 1 || amount > RL_CAPACITY_MAX || multiples < 1)
		return 0;
	limit->amount = (uint32_t)amount;
	limit->expiry = multiples * PyLong_AsUnsignedLongLong(value);
	return !PyErr_Occurred();
}
