/* SPDX-License-Identifier: BSD-2-Clause */
/* Proxies: whom to believe, and the client of a request that came through them. */
#include <rl_http.h>
#include <string.h>

#include "rlpy.h"

#define LINES_MAX RL_HTTP_HOPS_MAX /* of the field; the last ones, which are nearer */

struct proxies {
	PyObject_HEAD struct rl_http_trust trust;
	struct rl_http_network *networks;
};

static void
proxies_dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	PyMem_Free(((struct proxies *)object)->networks);
	PyObject_Free(object);
	Py_DECREF(type);
}

static int
network_read(struct proxies *self, PyObject *item)
{
	const char *text = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;

	if (text && rl_http_network(text, &self->networks[self->trust.count]) == 0) {
		self->trust.count++;
		return 0;
	}
	PyErr_Clear();
	PyErr_Format(PyExc_ValueError,
	             "trusted: expected \"ADDRESS/BITS\", \"ADDRESS\" or \"unix:\", got %R", item);
	return -1;
}

static int
networks_read(struct proxies *self, PyObject *list)
{
	Py_ssize_t count = PySequence_Size(list);

	if (count < 0)
		return -1;
	self->networks = PyMem_Calloc((size_t)count + 1, sizeof *self->networks);
	if (!self->networks) {
		PyErr_NoMemory();
		return -1;
	}
	self->trust.networks = self->networks;
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(list, i);
		int error = item ? network_read(self, item) : -1;
		Py_XDECREF(item);
		if (error < 0)
			return -1;
	}
	return 0;
}

static int
trust_read(struct proxies *self, const char *field, unsigned v4, unsigned v6)
{
	self->trust.prefix_v4 = v4;
	self->trust.prefix_v6 = v6;
	if (v4 > 32 || v6 > 128)
		PyErr_Format(PyExc_ValueError,
		             "prefix_v4 is at most 32 and prefix_v6 at most 128, got %u and %u", v4,
		             v6);
	else if (strcmp(field, "x-forwarded-for") == 0)
		self->trust.field = RL_HTTP_X_FORWARDED_FOR;
	else if (strcmp(field, "forwarded") == 0)
		self->trust.field = RL_HTTP_FORWARDED;
	else
		PyErr_Format(PyExc_ValueError,
		             "field: expected 'x-forwarded-for' or 'forwarded', got '%s'", field);
	return PyErr_Occurred() ? -1 : 0;
}

static PyObject *
proxies_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"trusted", "field", "prefix_v4", "prefix_v6", NULL};
	const char *field = "x-forwarded-for";
	unsigned v4 = 0, v6 = 0;
	PyObject *list;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$sII:Proxies", names, &list, &field, &v4,
	                                 &v6))
		return NULL;
	if (PyUnicode_Check(list)) {
		PyErr_SetString(PyExc_TypeError,
		                "trusted: expected a list of networks, got one str");
		return NULL;
	}
	struct proxies *self = PyObject_New(struct proxies, type);
	if (!self)
		return NULL;
	self->networks = NULL;
	self->trust = (struct rl_http_trust){0};
	if (trust_read(self, field, v4, v6) < 0 || networks_read(self, list) < 0) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static int
value_get(PyObject *object, struct key *key, struct rl_http_value *value)
{
	if (key_get(object, key) < 0)
		return -1;
	*value = (struct rl_http_value){key->bytes, key->len};
	return 0;
}

/* A tuple, which keeps the lines; one text alone would be a sequence, too. */
static PyObject *
lines_of(PyObject *given)
{
	PyObject *lines = NULL;

	if (!given)
		return PyTuple_New(0);
	if (!PyUnicode_Check(given) && !PyBytes_Check(given))
		lines = PySequence_Tuple(given);
	if (!lines && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
		PyErr_Format(PyExc_TypeError, "lines: expected a list of str or bytes, got %R",
		             given);
	return lines;
}

/* The text of a line, which is str or bytes. */
static int
line_text(PyObject *line, struct rl_http_value *value)
{
	char *bytes;
	Py_ssize_t len;

	if (PyUnicode_Check(line)) {
		value->text = PyUnicode_AsUTF8AndSize(line, &len);
	} else if (PyBytes_Check(line) && PyBytes_AsStringAndSize(line, &bytes, &len) == 0) {
		value->text = bytes;
	} else {
		PyErr_SetString(PyExc_TypeError, "lines: expected str or bytes");
		return -1;
	}
	value->len = (size_t)len;
	return value->text ? 0 : -1;
}

/*
 * The last lines: what is near the end was written by who is near. How many, or -1; `lines` owns
 * their text.
 */
static int
lines_read(PyObject *lines, struct rl_http_value values[LINES_MAX])
{
	Py_ssize_t count = PyTuple_Size(lines), first = count > LINES_MAX ? count - LINES_MAX : 0;

	for (Py_ssize_t i = first; i < count; i++)
		if (line_text(PyTuple_GetItem(lines, i), &values[i - first]) < 0)
			return -1;
	return (int)(count - first);
}

PyDoc_STRVAR(
	client_doc,
	"client($self, peer, lines=(), /)\n--\n\n"
	"Whom a request comes from that `peer` has sent: (address, how, hops). `lines` are the\n"
	"lines of the field in the order in which they came, `how` is \"found\", \"listed\",\n"
	"\"no_address\" or \"far\", `hops` how many elements were believed. ValueError: the peer\n"
	"is no address. A peer of a unix socket is \"unix:\" or empty.");
static PyObject *
proxies_client(PyObject *object, PyObject *args)
{
	static const char *const ends[] = {"found", "listed", "no_address", "far"};
	struct proxies *self = (struct proxies *)object;
	struct rl_http_value peer, values[LINES_MAX];
	PyObject *peer_object, *given = NULL, *lines, *answer = NULL;
	struct rl_http_client client;
	struct key peer_key;
	int count;

	if (!PyArg_ParseTuple(args, "O|O:client", &peer_object, &given) ||
	    value_get(peer_object, &peer_key, &peer) < 0)
		return NULL;
	lines = lines_of(given);
	count = lines ? lines_read(lines, values) : -1;
	if (count >= 0 && rl_http_client(&self->trust, peer, values, (size_t)count, &client) == 0)
		answer = Py_BuildValue("(ssI)", client.address, ends[client.end], client.hops);
	else if (count >= 0)
		PyErr_Format(PyExc_ValueError, "peer: expected an address, got %R", peer_object);
	Py_XDECREF(lines);
	key_drop(&peer_key);
	return answer;
}

static PyObject *
get_field(PyObject *object, void *closure)
{
	(void)closure;
	return PyUnicode_FromString(((struct proxies *)object)->trust.field == RL_HTTP_FORWARDED
	                                    ? "forwarded"
	                                    : "x-forwarded-for");
}

static PyGetSetDef getters[] = {
	{"field", get_field, NULL, "the field that the proxies write", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
	{"client", proxies_client, METH_VARARGS, client_doc},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
         "Proxies(trusted, *, field='x-forwarded-for', prefix_v4=32, prefix_v6=64)\n--\n\n"
         "The proxies in front of a server: networks such as \"10.0.0.0/8\", addresses, and\n"
         "\"unix:\" for every peer of a unix socket; and the field that they write,\n"
         "\"x-forwarded-for\" or \"forwarded\"."},
	{Py_tp_new, proxies_new},
	{Py_tp_dealloc, proxies_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_getset, getters},
	{0, NULL},
};

PyType_Spec proxies_spec = {
	.name = "rl.Proxies",
	.basicsize = sizeof(struct proxies),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};
