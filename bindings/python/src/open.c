/* SPDX-License-Identifier: BSD-2-Clause */
/* Segment(): how a segment is opened. */
#include <errno.h>
#include <grp.h>
#include <string.h>

#include "rlpy.h"

#define GROUP_SIZE 65536 /* bytes that the entry of a group may take */

/* A name or a number. */
static int
group_get(PyObject *object, struct rl_options *options)
{
	struct group entry, *found = NULL;
	uint32_t id = 0;
	const char *name;
	char *text;

	if (!object || object == Py_None)
		return 0;
	options->flags |= RL_OPEN_GROUP;
	if (!PyUnicode_Check(object)) {
		if (u32_get(object, "group", &id) < 0)
			return -1;
		options->group = (gid_t)id;
		return 0;
	}
	name = PyUnicode_AsUTF8AndSize(object, NULL);
	text = name ? PyMem_Malloc(GROUP_SIZE) : NULL;
	if (!text)
		return name ? (PyErr_NoMemory(), -1) : -1;
	getgrnam_r(name, &entry, text, GROUP_SIZE, &found);
	if (found)
		options->group = found->gr_gid;
	else
		PyErr_Format(PyExc_ValueError, "group: there is no group %R", object);
	PyMem_Free(text);
	return found ? 0 : -1;
}

static int
on_full_get(const char *word, enum rl_on_full *on_full)
{
	static const char *const words[] = {"reserve", "deny", "allow", "evict"};

	for (int i = 0; i < 4; i++)
		if (strcmp(word, words[i]) == 0) {
			*on_full = (enum rl_on_full)i;
			return 0;
		}
	PyErr_Format(PyExc_ValueError,
	             "on_full: expected 'reserve', 'deny', 'allow' or 'evict', got '%s'", word);
	return -1;
}

struct opening {
	const char *name;
	struct rl_options options;
	int is_private;
};

#define NUMBERS 10

/* None of key_bytes means that no names are kept, None of events that nothing is told. */
static int
options_read(PyObject *args, PyObject *kwargs, struct opening *o)
{
	static char *names[] = {"name",      "keys",     "ring",     "key_bytes", "rules",
	                        "overrides", "bans",     "holders",  "cells",     "reserves",
	                        "events",    "on_full",  "buffer",   "mode",      "group",
	                        "private",   "readonly", "existing", "any_owner", "huge_pages",
	                        "populate",  "at_least", NULL};
	PyObject *n[NUMBERS] = {NULL}, *buffer = NULL, *mode = NULL, *group = NULL;
	int flags[6] = {0};
	uint32_t bits = 0;
	const char *on_full = "reserve";
	struct rl_options *to = &o->options;
	struct {
		const char *name;
		uint32_t *to;
	} numbers[NUMBERS] = {{"keys", &to->keys},           {"ring", &to->ring},
	                      {"key_bytes", &to->key_bytes}, {"rules", &to->rules},
	                      {"overrides", &to->overrides}, {"bans", &to->bans},
	                      {"holders", &to->holders},     {"cells", &to->cells},
	                      {"reserves", &to->reserves},   {"events", &to->events}};

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z$OOOOOOOOOOsOOOppppppp:Segment", names,
	                                 &o->name, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6],
	                                 &n[7], &n[8], &n[9], &on_full, &buffer, &mode, &group,
	                                 &o->is_private, &flags[0], &flags[1], &flags[2], &flags[3],
	                                 &flags[4], &flags[5]))
		return -1;
	for (size_t i = 0; i < NUMBERS; i++)
		if (u32_get(n[i], numbers[i].name, numbers[i].to) < 0)
			return -1;
	if (to->ring == 0)
		to->ring = RL_GRANULARITY_MAX; /* any window has room */
	if (n[2] == Py_None)
		to->key_bytes = RL_KEY_BYTES_NONE;
	if (n[9] == Py_None)
		to->events = RL_EVENTS_NONE;
	if (on_full_get(on_full, &to->on_full) < 0 ||
	    seconds_get(buffer, "buffer", &to->buffer_ns) < 0 || u32_get(mode, "mode", &bits) < 0 ||
	    group_get(group, to) < 0)
		return -1;
	to->mode = (mode_t)bits;
	to->flags |= (flags[0] ? RL_OPEN_READONLY : 0U) | (flags[1] ? RL_OPEN_EXISTING : 0U) |
	             (flags[2] ? RL_OPEN_ANY_OWNER : 0U) | (flags[3] ? RL_OPEN_HUGE_PAGES : 0U) |
	             (flags[4] ? RL_OPEN_POPULATE : 0U) | (flags[5] ? RL_OPEN_AT_LEAST : 0U);
	return 0;
}

/* What is less than was asked for. */
static void
explain_less(const char *name, const struct rl_options *asked, char *text, size_t size)
{
	struct rl_options as_is = {.flags = (asked->flags & ~(unsigned)RL_OPEN_AT_LEAST) |
	                                    RL_OPEN_EXISTING,
	                           .group = asked->group,
	                           .mode = asked->mode};
	struct rl_info info;
	struct rl *rl;

	if (rl_open(name, &as_is, &rl) < 0)
		return;
	rl_info(rl, &info);
	rl_open_compare(&info, asked, text, size);
	rl_close(rl);
}

static PyObject *
open_failed(const struct state *state, const struct opening *o, int error)
{
	const char *name = o->name ? o->name : "default";
	char less[RL_OPEN_TEXT_SIZE] = "";
	struct rl_place place;
	PyObject *what;

	if (error == RL_ELESS)
		explain_less(o->name, &o->options, less, sizeof less);
	if (less[0])
		what = PyUnicode_FromFormat("segment %s: %s", name, less);
	else if (rl_place(o->name, &o->options, &place) == 0)
		what = PyUnicode_FromFormat("segment %s (%s)", name, place.path);
	else
		what = PyUnicode_FromFormat("segment %s", name);
	if (what)
		raise_error(state, error, PyUnicode_AsUTF8AndSize(what, NULL));
	Py_XDECREF(what);
	return NULL;
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
	self->rl = NULL;
	self->users = self->is_closing = 0;
	Py_BEGIN_ALLOW_THREADS if (o.is_private) error = rl_open_private(&o.options, &self->rl);
	else error = rl_open(o.name, &o.options, &self->rl);
	Py_END_ALLOW_THREADS if (error == 0) return (PyObject *)self;
	self->rl = NULL;
	open_failed(self->state, &o, error);
	Py_DECREF(self);
	return NULL;
}
