/* SPDX-License-Identifier: BSD-2-Clause */
/* Rl\Segment: opening, closing, and what holds for all of a segment. */
#include "php_object.h"
#include "php_rl.h"
#include "php_value.h"

#include "options.h"
#include "text.h"

static zend_object_handlers segment_handlers;

zend_object *
rlp_segment_create(zend_class_entry *ce)
{
	struct segment_object *segment = zend_object_alloc(sizeof *segment, ce);

	zend_object_std_init(&segment->std, ce);
	object_properties_init(&segment->std, ce);
	segment->std.handlers = &segment_handlers;
	return &segment->std;
}

static void
segment_free(zend_object *object)
{
	rlp_handle_drop(OBJECT(segment_object, object)->handle);
	zend_object_std_dtor(object);
}

void
rlp_segment_init(void)
{
	memcpy(&segment_handlers, &std_object_handlers, sizeof segment_handlers);
	segment_handlers.offset = XtOffsetOf(struct segment_object, std);
	segment_handlers.free_obj = segment_free;
	segment_handlers.clone_obj = NULL;
}

/* Without a name it is a private one. */
static void
throw_open(int error, const char *name, const struct rl_options *options)
{
	char why[RLB_OPEN_TEXT_SIZE];
	zend_string *text;

	rlb_open_why(error, name, options, why);
	text = name ? zend_strpprintf(0, "segment %s: %s", name, why)
	            : zend_strpprintf(0, "private segment: %s", why);
	rlp_throw_text(error, ZSTR_VAL(text));
	zend_string_release(text);
}

ZEND_METHOD(Rl_Segment, __construct)
{
	struct segment_object *segment = THIS(segment_object);
	struct rl_options options;
	zend_string *name = NULL;
	zval *array = NULL;
	const char *text;
	int error;

	ZEND_PARSE_PARAMETERS_START(0, 2)
	Z_PARAM_OPTIONAL
	Z_PARAM_PATH_STR_OR_NULL(name)
	Z_PARAM_ARRAY(array)
	ZEND_PARSE_PARAMETERS_END();
	if (segment->handle) {
		zend_throw_error(NULL, "the segment is open already");
		RETURN_THROWS();
	}
	if (!rlp_options(array, &options, &segment->on_error))
		RETURN_THROWS();
	text = name ? ZSTR_VAL(name) : "default";
	segment->handle = rlp_handle_open(text, &options, &error);
	if (error < 0)
		throw_open(error, text, &options);
}

ZEND_METHOD(Rl_Segment, private)
{
	struct rl_options options;
	struct segment_object *segment;
	enum on_error on_error;
	zval *array = NULL;
	int error;

	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_ARRAY(array)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_options(array, &options, &on_error))
		RETURN_THROWS();
	object_init_ex(return_value, rlp_segment_ce);
	segment = OBJECT(segment_object, Z_OBJ_P(return_value));
	segment->on_error = on_error;
	segment->handle = rlp_handle_private(&options, &error);
	if (error < 0)
		throw_open(error, NULL, &options);
}

/* The rule, or counters, as an object. */
static void
give(zval *return_value, zend_class_entry *ce, struct segment_object *segment,
     struct rule_entry *entry)
{
	rlp_rule_object(return_value, ce, segment, entry);
}

ZEND_METHOD(Rl_Segment, rule)
{
	struct segment_object *segment = THIS(segment_object);
	zval *limit = NULL;
	zend_string *name;
	bool keep = false;

	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_STR(name)
	Z_PARAM_OPTIONAL
	Z_PARAM_ZVAL(limit)
	Z_PARAM_BOOL(keep)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	if (limit && Z_TYPE_P(limit) != IS_NULL && Z_TYPE_P(limit) != IS_STRING &&
	    Z_TYPE_P(limit) != IS_ARRAY) {
		zend_argument_type_error(2, "must be of type array|string|null, %s given",
		                         zend_zval_type_name(limit));
		RETURN_THROWS();
	}
	rlp_now(segment->handle);
	give(return_value, rlp_rule_ce, segment,
	     limit && Z_TYPE_P(limit) != IS_NULL
	             ? rlp_rule_define(segment->handle, name, limit, keep)
	             : rlp_rule_find(segment->handle, name, RLB_FOUND));
}

ZEND_METHOD(Rl_Segment, counters)
{
	struct segment_object *segment = THIS(segment_object);
	bool create = true;
	zend_string *name;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(name)
	Z_PARAM_OPTIONAL
	Z_PARAM_BOOL(create)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	rlp_now(segment->handle);
	give(return_value, rlp_counters_ce, segment,
	     rlp_rule_find(segment->handle, name, create ? RLB_SPACE : RLB_FOUND));
}

ZEND_METHOD(Rl_Segment, forget)
{
	struct segment_object *segment = THIS(segment_object);
	zend_string *name;
	int done;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	done = rl_forget(segment->handle->s.rl, ZSTR_VAL(name));
	if (done < 0)
		rlp_throw(done, "forget: %s", ZSTR_VAL(name));
	RETURN_BOOL(done > 0);
}

ZEND_METHOD(Rl_Segment, look)
{
	struct segment_object *segment = THIS(segment_object);
	uint32_t epoch;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	epoch = segment->handle->s.epoch;
	rlp_handle_look(segment->handle);
	if (segment->handle->s.trouble < 0)
		rlp_throw(segment->handle->s.trouble, "segment %s", segment->handle->s.name);
	RETURN_BOOL(segment->handle->s.epoch != epoch);
}

ZEND_METHOD(Rl_Segment, nowNs)
{
	struct segment_object *segment = THIS(segment_object);

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	RETURN_LONG(rlp_long(rlp_now(segment->handle)));
}

ZEND_METHOD(Rl_Segment, giveBack)
{
	struct segment_object *segment = THIS(segment_object);
	int done;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!rlp_is_open(segment->handle))
		RETURN_THROWS();
	done = rl_prefetch_return(segment->handle->s.rl);
	if (done < 0)
		rlp_throw(done, "giveBack");
	RETURN_LONG(done);
}

ZEND_METHOD(Rl_Segment, close)
{
	struct segment_object *segment = THIS(segment_object);

	ZEND_PARSE_PARAMETERS_NONE();
	if (segment->handle && segment->handle->is_warning)
		zend_throw_error(NULL, "the segment is in use");
	else if (segment->handle)
		rlb_close(&segment->handle->s);
}

ZEND_FUNCTION(Rl_unlink)
{
	zend_string *name;
	int error;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_PATH_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	error = rl_unlink(ZSTR_VAL(name));
	if (error < 0)
		rlp_throw(error, "segment %s", ZSTR_VAL(name));
}

ZEND_FUNCTION(Rl_key_digest)
{
	char text[RL_KEY_DIGEST_SIZE];
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	rl_key_digest(ZSTR_VAL(key), ZSTR_LEN(key), text);
	RETURN_STRING(text);
}

ZEND_FUNCTION(Rl_rate)
{
	zend_string *text;
	uint64_t window_ns;
	uint32_t capacity;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_STR(text)
	ZEND_PARSE_PARAMETERS_END();
	if (rlb_rate(ZSTR_VAL(text), ZSTR_LEN(text), &capacity, &window_ns) < 0) {
		zend_argument_value_error(1, "must be a rate such as \"100/min\" or \"5/10s\"");
		RETURN_THROWS();
	}
	array_init(return_value);
	add_assoc_long(return_value, "capacity", capacity);
	add_assoc_long(return_value, "window_ns", rlp_long(window_ns));
}
