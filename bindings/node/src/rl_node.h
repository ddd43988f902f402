/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NODE_H
#define RL_NODE_H

/*
 * librl for Node. An environment is one JavaScript thread: the main one or a worker. All
 * environments of a process share its open segments (handle.h). Each has a small table of those
 * that it uses, by number, so that a call finds its segment without a lock and without looking at
 * an object.
 *
 * An answer is written to memory that JavaScript sees as arrays of numbers: to make an object by
 * the calls of Node's interface costs several times a decision.
 */
#define NAPI_VERSION 8
#include <node_api.h>
#include <rl.h>
#include <stdbool.h>

#include "handle.h"
#include "values.h"
#include "words.h"

#define SEGMENTS_MAX 64
#define NAME_SIZE HANDLE_NAME_SIZE
#define LOOK_MS 1000 /* how often an environment looks whether its segment was replaced */

/*
 * An answer. lib/native.js knows where what is. Whole numbers are int32, which JavaScript reads
 * without making an object of each; a time in milliseconds that does not fit, or never ends, is -1
 * there and stands in `ms`.
 */
enum whole {
	WHOLE_VERDICT,
	WHOLE_ERROR,
	WHOLE_REASON,
	WHOLE_INDEX,
	WHOLE_LIMIT,
	WHOLE_REMAINING,
	WHOLE_USED, /* as unsigned */
	WHOLE_SHADOW,
	WHOLE_TIMES, /* retry, reset, delay, window */
	WHOLES = WHOLE_TIMES + 4,
};

struct answer {
	int32_t whole[WHOLES];
	double ms[4];
	double spare[2];
	uint64_t ns[4];
};
#define ANSWER_DOUBLES 16

struct out {
	struct answer answer;
	int32_t epoch[SEGMENTS_MAX]; /* of each segment: how often it was replaced */
};
_Static_assert(sizeof(struct answer) == ANSWER_DOUBLES * sizeof(double),
               "lib/native.js counts on it");

/* A verdict that says: look at the segment, then ask again. Nothing was decided. */
#define VERDICT_LOOK 9

struct used_segment {
	struct handle *handle; /* NULL: the number is free */
	unsigned opens;        /* by this environment */
	uint64_t look_ns;      /* on rl_now()'s scale; 0: never, it has no name */
};

struct environment {
	struct out *out;
	napi_ref out_ref;
	struct used_segment used[SEGMENTS_MAX];
};

#define ARGS_MAX 8
struct call {
	napi_env env;
	struct environment *mine;
	size_t argc;
	napi_value argv[ARGS_MAX];
};

/* values.c: all of these throw, and then return false or NULL. */
bool call_begin(struct call *c, napi_env env, napi_callback_info info);
struct used_segment *call_segment(struct call *c, size_t arg);
/*
 * The same, and the time in argument `now`, or rl_now() where there is none. False without an
 * exception if it is time to look whether the segment was replaced: then nothing else was read.
 */
bool call_ready(struct call *c, size_t arg, size_t now, struct rl **rl, uint64_t *now_ns);
bool call_has(struct call *c, size_t arg); /* it is there, and neither undefined nor null */
bool call_whole(struct call *c, size_t arg, const char *what, double least, double most,
                double *to);
bool call_i32(struct call *c, size_t arg, int32_t *to);
/* Milliseconds as a number, nanoseconds as a bigint. Infinity is RL_NEVER_NS. */
bool call_ns(struct call *c, size_t arg, const char *what, uint64_t *to);
/* As call_ns(); rl_now() where the argument is not there. */
bool call_now(struct call *c, size_t arg, struct rl *rl, uint64_t *now_ns);
/* As call_ns(). */
bool value_ns(napi_env env, napi_value value, const char *what, uint64_t *to);
bool call_name(struct call *c, size_t arg, const char *what, char *to, size_t size);

struct key {
	const void *bytes;
	size_t len;
	char text[RL_KEY_MAX + 5]; /* more than a key may have, by one character of UTF-8 */
};
bool value_key(napi_env env, napi_value value, struct key *key);

double ms_of(uint64_t ns); /* rounded up; Infinity for RL_NEVER_NS */
napi_value number(napi_env env, double value);
/* The number, or NULL and an exception if it is negative. */
napi_value number_or_throw(napi_env env, int64_t rc, const char *what);
napi_value text(napi_env env, const char *value);
void set_number(napi_env env, napi_value object, const char *name, double value);
void set_text(napi_env env, napi_value object, const char *name, const char *value);
void set_bool(napi_env env, napi_value object, const char *name, bool value);
napi_value array_of(napi_env env, napi_value object, uint32_t index);

/* errors.c */
/* "rl: what: message", with the error's name in `code`. Returns NULL. */
napi_value throw_rl(napi_env env, int error, const char *what, const char *message);
napi_value throw_range(napi_env env, const char *what, const char *allowed);
napi_value throw_type(napi_env env, const char *what, const char *wanted);

/* fields.c */
struct shown {
	napi_env env;
	napi_value object;
};
rlb_show show_value; /* in a struct shown */
bool read_limit(napi_env env, napi_value value, uint32_t ring, struct rl_limit *limit);
bool read_options(napi_env env, napi_value object, struct rl_options *options);

/* decide.c */
void put_result(struct answer *to, const struct rl_result *result);
void put_time(struct answer *to, int at, uint64_t ns);

/* The functions that JavaScript calls. */
#define NATIVE(name) napi_value native_##name(napi_env env, napi_callback_info info)
#define EACH_NATIVE(name) NATIVE(name);
#include "natives.def"
#undef EACH_NATIVE

#endif
