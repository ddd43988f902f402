/* SPDX-License-Identifier: BSD-2-Clause */
/* Rl\Result: what librl answered, and what was charged, to give it back. */
#include <errno.h>
#include <unistd.h>

#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"
#include <zend_exceptions.h>

#include "charges.h"
#include "headers.h"
#include "text.h"
#include "words.h"

struct result_object {
	struct handle *handle;
	struct rule_entry *entry;
	enum on_error on_error;
	struct rl_result r;
	uint64_t now_ns;
	uint32_t epoch; /* of the segment: what another one charged cannot be given back in this
	                   one */
	struct kept *kept;
	zend_object std;
};

static zend_object_handlers result_handlers;

struct kept *
rlp_kept_new(void)
{
	struct kept *kept = ecalloc(1, sizeof *kept);

	kept->process = getpid();
	return kept;
}

zend_object *
rlp_result_create(zend_class_entry *ce)
{
	struct result_object *result = zend_object_alloc(sizeof *result, ce);

	zend_object_std_init(&result->std, ce);
	object_properties_init(&result->std, ce);
	result->std.handlers = &result_handlers;
	return &result->std;
}

void
rlp_result_object(zval *to, struct rule_object *rule, const struct rl_result *from, uint64_t now_ns,
                  struct kept *kept)
{
	struct result_object *result;

	object_init_ex(to, rlp_result_ce);
	result = OBJECT(result_object, Z_OBJ_P(to));
	result->handle = rule->handle;
	result->entry = rule->entry;
	result->on_error = rule->on_error;
	result->r = *from;
	result->now_ns = now_ns;
	result->epoch = rule->handle->s.epoch;
	result->kept = kept;
	rlp_handle_keep(result->handle);
}

/* Let it through? An error is the segment's on_error to say: nothing passes in silence. */
bool
rlp_passes(const struct rule_entry *entry, enum on_error on_error, const struct rl_result *result)
{
	if (EXPECTED(result->error == 0))
		return result->verdict == RL_ALLOWED;
	if (on_error == ON_ERROR_THROW)
		rlp_throw(result->error, "rule %s", entry->r.name);
	return on_error == ON_ERROR_ALLOW;
}

/* Is there something that can be given back in the segment that is open? */
static bool
is_kept(const struct result_object *result)
{
	return result->kept && result->handle->s.rl && result->epoch == result->handle->s.epoch;
}

static int
release(struct result_object *result)
{
	struct kept *kept = result->kept;

	if (kept->hold_count == 0)
		kept->hold_count = rl_holds(&kept->charges, kept->holds, RL_LIMITS_MAX);
	return rl_release(result->handle->s.rl, kept->holds, kept->hold_count);
}

/*
 * What is in flight is held as long as the object lives: also a request that ends by exit() gives
 * it back.
 */
static void
result_free(zend_object *object)
{
	struct result_object *result = OBJECT(result_object, object);

	if (result->kept) {
		if (is_kept(result) && result->kept->process == getpid())
			release(result);
		efree(result->kept);
	}
	rlp_handle_drop(result->handle);
	zend_object_std_dtor(object);
}

static double
seconds(uint64_t ns)
{
	return ns == RL_NEVER_NS ? ZEND_INFINITY : (double)ns / (double)RL_SECOND;
}

/* What var_dump() and the like show. */
static HashTable *
result_shown(zend_object *object, int *is_temporary)
{
	const struct result_object *result = OBJECT(result_object, object);
	const struct rl_result *r = &result->r;
	char digits[RLB_ERROR_SIZE];
	zval shown;

	*is_temporary = 1;
	array_init(&shown);
	add_assoc_string(&shown, "rule", result->entry->r.name);
	add_assoc_string(&shown, "verdict", rlb_verdict((int)r->verdict));
	add_assoc_string(&shown, "reason", rlb_reason((int)r->reason));
	add_assoc_long(&shown, "limit", r->limit);
	add_assoc_long(&shown, "remaining", r->remaining);
	add_assoc_long(&shown, "used", r->used);
	add_assoc_double(&shown, "retryAfter", seconds(r->retry_after_ns));
	if (r->error != 0)
		add_assoc_string(&shown, "error", rlb_error(r->error, digits));
	return Z_ARRVAL(shown);
}

void
rlp_result_init(void)
{
	memcpy(&result_handlers, &std_object_handlers, sizeof result_handlers);
	result_handlers.offset = XtOffsetOf(struct result_object, std);
	result_handlers.free_obj = result_free;
	result_handlers.clone_obj = NULL;
	result_handlers.get_debug_info = result_shown;
}

ZEND_METHOD(Rl_Result, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

#define RESULT THIS(result_object)
#define READER(name, statement)               \
	ZEND_METHOD(Rl_Result, name)          \
	{                                     \
		ZEND_PARSE_PARAMETERS_NONE(); \
		statement;                    \
	}

static bool
is_denied(const struct rl_result *r)
{
	return r->verdict == RL_DENIED || r->verdict == RL_NEVER;
}

/*
 * By hand, and held against rl_result_fields.def by tests/house/lists.py: a method's name is in
 * camel case, which the preprocessor cannot make of a field's, and stands in the stub anyway.
 */
READER(verdict, RETURN_STRING(rlb_verdict((int)RESULT->r.verdict)))
READER(reason, RETURN_STRING(rlb_reason((int)RESULT->r.reason)))
READER(isAllowed, RETURN_BOOL(RESULT->r.verdict == RL_ALLOWED))
READER(isDenied, RETURN_BOOL(is_denied(&RESULT->r)))
READER(isShadowDenied, RETURN_BOOL(RESULT->r.is_shadow_denied))
READER(passes, RETURN_BOOL(rlp_passes(RESULT->entry, RESULT->on_error, &RESULT->r)))
READER(index, RETURN_LONG(RESULT->r.index))
READER(limit, RETURN_LONG(RESULT->r.limit))
READER(remaining, RETURN_LONG(RESULT->r.remaining))
READER(used, RETURN_LONG(RESULT->r.used))
READER(retryAfter, RETURN_DOUBLE(seconds(RESULT->r.retry_after_ns)))
READER(retryAfterNs, RETURN_LONG(rlp_long(RESULT->r.retry_after_ns)))
READER(resetAfter, RETURN_DOUBLE(seconds(RESULT->r.reset_after_ns)))
READER(resetAfterNs, RETURN_LONG(rlp_long(RESULT->r.reset_after_ns)))
READER(delay, RETURN_DOUBLE(seconds(RESULT->r.delay_ns)))
READER(delayNs, RETURN_LONG(rlp_long(RESULT->r.delay_ns)))
READER(window, RETURN_DOUBLE(seconds(RESULT->r.window_ns)))
READER(windowNs, RETURN_LONG(rlp_long(RESULT->r.window_ns)))

ZEND_METHOD(Rl_Result, error)
{
	char digits[RLB_ERROR_SIZE];
	int error = RESULT->r.error;

	ZEND_PARSE_PARAMETERS_NONE();
	if (error == 0)
		RETURN_NULL();
	RETURN_STRING(rlb_error(error, digits));
}

ZEND_METHOD(Rl_Result, headers)
{
	struct result_object *result = RESULT;
	bool unix_time = false;
	zend_string *word = NULL;
	struct rlb_headers h;
	struct rlb_how how;
	int set;

	ZEND_PARSE_PARAMETERS_START(0, 2)
	Z_PARAM_OPTIONAL
	Z_PARAM_BOOL(unix_time)
	Z_PARAM_STR(word)
	ZEND_PARSE_PARAMETERS_END();
	set = word ? rl_http_set(ZSTR_VAL(word)) : RL_HTTP_IETF_11;
	if (set < 0) {
		zend_argument_value_error(2, "must be \"ietf\", \"ietf-11\" or \"ietf-7\"");
		RETURN_THROWS();
	}
	how.set = (enum rl_http_set)set;
	how.reset = unix_time ? RL_HTTP_RESET_UNIX : RL_HTTP_RESET_DELTA;
	if (!rlp_is_open(result->handle))
		RETURN_THROWS();
	array_init(return_value);
	if (rlb_headers(result->handle->s.rl, result->entry->r.id, result->entry->r.name,
	                &result->r, result->now_ns, how, &h) < 0)
		return;
	for (unsigned i = 0; i < h.count; i++)
		add_assoc_string(return_value, h.field[i].name, h.field[i].value);
}

ZEND_METHOD(Rl_Result, problem)
{
	struct result_object *result = RESULT;
	char text[RL_HTTP_PROBLEM_SIZE];
	zend_long status;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_LONG(status)
	ZEND_PARSE_PARAMETERS_END();
	if (status < 0 || status > 599 ||
	    rlb_problem(result->entry->r.name, &result->r, (unsigned)status, text) < 0) {
		zend_argument_value_error(1, "must be from 100 to 599");
		RETURN_THROWS();
	}
	RETURN_STRING(text);
}

/* May something be given back? false is no, or an exception. */
static bool
begin(struct result_object *result)
{
	if (!result->kept) {
		zend_throw_error(NULL, "this request kept no charges: ask with keep: true");
		return false;
	}
	return rlp_is_open(result->handle) && is_kept(result);
}

ZEND_METHOD(Rl_Result, refund)
{
	struct result_object *result = RESULT;
	bool is_null = true, holds = true;
	zend_long now = 0;
	int done;

	ZEND_PARSE_PARAMETERS_START(0, 2)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now, is_null)
	Z_PARAM_BOOL(holds)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(result))
		RETURN_FALSE;
	if (!is_null && now < 0) {
		zend_argument_value_error(1, "must be nanoseconds since 1970");
		RETURN_THROWS();
	}
	result->kept->charges.now_ns = is_null ? 0 : (uint64_t)now;
	done = rlb_refund(result->handle->s.rl, &result->kept->charges, holds);
	if (done < 0)
		rlp_throw(done, "refund: rule %s", result->entry->r.name);
	RETURN_BOOL(done > 0);
}

ZEND_METHOD(Rl_Result, settle)
{
	struct result_object *result = RESULT;
	bool is_null = true;
	zend_long actual, now = 0;
	int done;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_LONG(actual)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG_OR_NULL(now, is_null)
	ZEND_PARSE_PARAMETERS_END();
	if (!begin(result))
		RETURN_FALSE;
	if (actual < 0) {
		zend_argument_value_error(1, "must not be negative");
		RETURN_THROWS();
	}
	if (!is_null && now < 0) {
		zend_argument_value_error(2, "must be nanoseconds since 1970");
		RETURN_THROWS();
	}
	result->kept->charges.now_ns = is_null ? 0 : (uint64_t)now;
	done = rl_settle(result->handle->s.rl, &result->kept->charges, (uint64_t)actual);
	if (done < 0)
		rlp_throw(done, "settle: rule %s", result->entry->r.name);
	RETURN_BOOL(done > 0);
}

ZEND_METHOD(Rl_Result, release)
{
	struct result_object *result = RESULT;
	int done;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!begin(result))
		RETURN_FALSE;
	done = release(result);
	if (done < 0)
		rlp_throw(done, "release: rule %s", result->entry->r.name);
	RETURN_BOOL(done > 0);
}
