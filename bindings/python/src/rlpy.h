/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLPY_H
#define RLPY_H

/*
 * What the files of the extension share.
 *
 *	module.c    the module, its functions
 *	errors.c    what is raised for an error of librl
 *	handle.c    what objects hold: a segment until it is closed, a rule wherever its row is
 *	segment.c   Segment: a handle of rl_open(), and what is asked of a whole segment
 *	open.c      how it is opened
 *	define.c    its rules and spaces of counters
 *	rates.c     what is said of limits and durations in words
 *	rule.c      Rule: check, peek, reserve
 *	adapter.c   decisions without a result
 *	describe.c  what a rule is, and what it has counted
 *	several.c   several rules of one request, a batch
 *	result.c    Result: a copy of struct rl_result, and what was charged
 *	counters.c  Counters: a space of counters by key
 *	proxies.c   Proxies: the client behind proxies
 *	key_limit.c what a key of the library limits says
 *	convert.c   keys, times, arguments
 *
 * Nothing is kept outside of a module's state, so each interpreter has its own. A call that takes
 * long gives up the GIL; a decision does not, for it takes less time than that.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <rl_admin.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "segment.h"
#include "values.h"

#define VERDICTS (RL_UNDECIDED + 1)
#define REASONS (RL_BY_SHARE + 1)

/* What a module has. Objects keep a pointer to it, and their types keep the module. */
struct state {
	PyTypeObject *segment, *rule, *result, *counters, *count, *proxies;
	PyObject *error_of; /* rl._errors.error_of: from errno and text to an exception */
	PyObject *verdicts[VERDICTS], *reasons[REASONS];
};

struct segment {
	PyObject_HEAD struct state *state;
	struct rlb_segment s; /* its rl is NULL: closed */
	int users;            /* calls that are without the GIL */
	int is_closing;       /* the last of them closes */
	int may_sleep;        /* a decision may, for a share of a cluster's limit */
};

struct rule {
	PyObject_HEAD struct state *state;
	struct segment *segment;
	PyObject *name;
	int handle;
};

struct result {
	PyObject_HEAD struct rule *rule;
	pid_t pid;     /* that took what is held */
	unsigned held; /* units in flight: see result_hold() */
	uint64_t now_ns;
	struct rl_result r;
	struct rl_charges charges;
};

/*
 * The body of a refusal; without a result nothing could be decided. NULL and ValueError: no status.
 */
PyObject *problem_of(const struct result *of, PyObject *status);

/* The handle, or NULL and ValueError: the segment is closed. */
struct rl *segment_rl(const struct segment *segment);

/*
 * The handle, and in *now_ns the time that `at` gives or that it is. Python code of others may run
 * while arguments are read, and may close the segment: so this comes after them, and the call of
 * librl next.
 */
struct rl *segment_at(const struct segment *segment, PyObject *at, uint64_t *now_ns);

/*
 * Around what takes long, or makes objects on the way: others run meanwhile, and whoever closes
 * leaves that to the last.
 */
struct rl *segment_enter(struct segment *segment);
void segment_leave(struct segment *segment);

void segment_drop(struct segment *segment); /* close it now, if it is open */
void segment_end(struct segment *segment);  /* for good, once nobody is in a call */

struct rule *rule_new(struct segment *segment, int handle, const char *name);

/* The item's rule again, if its row went to another while its name has a new one. */
int rule_moved(struct rule *rule, const struct rl_result *r);

/* Without charges and times: those are set by who decides. */
struct result *result_new(struct rule *rule);
void result_hold(struct result *result);        /* after the decision */
PyObject *result_finish(struct result *result); /* or NULL: a key without bytes */

PyObject *counters_new(struct segment *segment, int space, const char *name);

/* Raise what `error` means; NULL. `what` names the thing at fault, or is NULL. */
PyObject *raise_error(const struct state *state, int error, const char *what);

/* The same with a whole sentence, which is taken over. NULL: it could not be made. */
PyObject *raise_text(const struct state *state, int error, PyObject *text);

/* A key as librl takes it: one that is too long is replaced by its digest. */
struct key {
	const void *bytes;
	size_t len;
	PyObject *owner; /* of the bytes, or NULL */
	char digest[RL_KEY_DIGEST_SIZE];
};
int key_get(PyObject *object, struct key *key); /* 0 or -1 and an exception */

static inline void
key_drop(struct key *key)
{
	Py_XDECREF(key->owner);
}

/*
 * The amount and the seconds of ".../AMOUNT/MULTIPLES/NAME", by a dict of the seconds of names. 1,
 * or 0: none.
 */
struct key_limit {
	uint32_t amount;
	uint64_t expiry;
};
int key_limit_get(PyObject *key, PyObject *seconds, struct key_limit *limit);

/* Each returns 0, or -1 and an exception that names the argument. NULL leaves what is there. */
int u64_get(PyObject *object, const char *name, uint64_t *value);
int u32_get(PyObject *object, const char *name, uint32_t *value);
int i64_get(PyObject *object, const char *name, int64_t *value);
int seconds_get(PyObject *object, const char *name, uint64_t *ns);

/* What bindings/common takes and shows. None is a duration without an end. */
struct rlb_value value_of(PyObject *object);
rlb_show show_value;                 /* in a dict */
PyObject *shown(PyObject *dict);     /* the dict, or NULL after an exception */
PyObject *seconds_from(uint64_t ns); /* RL_NEVER_NS is infinity */

/*
 * Arguments of a METH_FASTCALL | METH_KEYWORDS call into out[], by names[], which ends with NULL;
 * those that are not there are NULL. The first `positional` may come without a name, the first
 * `required` must come.
 */
struct arguments {
	const char *function;
	const char *const *names;
	int positional, required;
};
int arguments_read(const struct arguments *a, PyObject *const *args, Py_ssize_t count,
                   PyObject *names, PyObject **out);

/*
 * Fill the item's cost and what is the request's own, from arguments in the order of ITEM_NAMES:
 * None is as if absent.
 */
#define ITEM_NAMES "key", "cost", "capacity", "burst", "undelayed"
enum item_argument {
	ITEM_KEY,
	ITEM_COST,
	ITEM_CAPACITY,
	ITEM_BURST,
	ITEM_UNDELAYED,
	ITEM_ARGUMENTS
};
int item_read(PyObject *const *arguments, struct rl_item *item, struct key *key);

extern PyType_Spec segment_spec, rule_spec, result_spec, counters_spec, proxies_spec;
extern PyStructSequence_Desc count_desc;

#define SEGMENT_DOC                                                                                \
	"Segment(name='default', *, keys=0, ring=64, key_bytes=0, rules=0, overrides=0, bans=0,\n" \
	"        holders=0, cells=0, reserves=0, events=0, changes=0, on_full='reserve', "         \
	"buffer=0.0,\n"                                                                            \
	"        mode=0, group=None, private=False, readonly=False, existing=False, "              \
	"any_owner=False,\n"                                                                       \
	"        huge_pages=False, populate=False, at_least=False)\n--\n\n"                        \
	"A segment that this process has open. The first process that opens it creates it, with\n" \
	"these options (0: librl's default); later ones find it as it is, or with at_least=True\n" \
	"are refused if it is less than they ask for. Any thread and any child of fork() may "     \
	"use\n"                                                                                    \
	"it. A context that closes it at its end. Raises rl.Error."

/* Segment.__new__. */
PyObject *segment_open(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* Methods of Rule that are not in rule.c. */
PyObject *rule_admits(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rule_used(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rule_limits(PyObject *self, PyObject *ignored);
PyObject *rule_stats(PyObject *self, PyObject *ignored);
PyObject *rule_entries(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
extern const char admits_doc[], used_doc[], limits_doc[], stats_doc[], entries_doc[];

/* Methods of Segment that are not in segment.c. */
PyObject *segment_define(PyObject *self, PyObject *args);
PyObject *segment_find(PyObject *self, PyObject *args);
PyObject *segment_forget(PyObject *self, PyObject *args);
PyObject *segment_rules(PyObject *self, PyObject *ignored);
PyObject *segment_counters(PyObject *self, PyObject *args);
extern const char define_doc[], find_doc[], forget_doc[], rules_doc[], counters_doc[];

/* Limits as a tuple of dicts, in a rule; `more` is for all but the first. 0, or -1. */
int limits_read(PyObject *tuple, uint32_t ring, struct rl_rule *rule,
                struct rl_limit more[RL_LIMITS_MAX]);

/* Functions of the module that are in rates.c. */
PyObject *parse_rate(PyObject *module, PyObject *text);
PyObject *duration_ns(PyObject *module, PyObject *args);
PyObject *check_limits_of(PyObject *module, PyObject *args);
extern const char parse_rate_doc[], duration_ns_doc[], check_limits_of_doc[];

PyObject *check_all(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *check_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

#endif
