/* SPDX-License-Identifier: BSD-2-Clause */
/* Rl\Exception, with the number and the name of what librl returned; and arguments and answers. */
#include <errno.h>

#include "php_handle.h"
#include "php_rl.h"
#include "php_value.h"
#include <zend_exceptions.h>

#include "text.h"
#include "words.h"

void
rlp_throw_text(int error, const char *text)
{
	char digits[RLB_ERROR_SIZE];
	zend_object *exception =
		zend_throw_exception(rlp_exception_ce, text, error < 0 ? -error : error);

	zend_update_property_string(rlp_exception_ce, exception, ZEND_STRL("name"),
	                            rlb_error(error, digits));
}

void
rlp_throw(int error, const char *format, ...)
{
	char why[RLB_WHY_SIZE];
	zend_string *what, *text;
	va_list args;

	va_start(args, format);
	what = zend_vstrpprintf(0, format, args);
	va_end(args);
	text = zend_strpprintf(0, "%s: %s", ZSTR_VAL(what), rlb_why(error, why));
	rlp_throw_text(error, ZSTR_VAL(text));
	zend_string_release(what);
	zend_string_release(text);
}

bool
rlp_is_open(struct handle *handle)
{
	if (EXPECTED(handle && handle->s.rl))
		return true;
	rlp_throw(-EBADF, "the segment is closed");
	return false;
}

bool
rlp_seconds(double seconds, bool is_null, uint32_t arg, uint64_t *ns)
{
	*ns = RL_NEVER_NS;
	if (is_null || rlb_seconds(seconds, ns) == 0)
		return true;
	zend_argument_value_error(arg, "must be seconds from 0");
	return false;
}

zend_long
rlp_long(uint64_t ns)
{
	return ns > (uint64_t)ZEND_LONG_MAX ? ZEND_LONG_MAX : (zend_long)ns;
}

struct rlb_value
rlp_value(zval *value)
{
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
	case IS_LONG:
		return (struct rlb_value){.kind = RLB_INTEGER, .integer = Z_LVAL_P(value)};
	case IS_DOUBLE:
		return (struct rlb_value){.kind = RLB_REAL, .real = Z_DVAL_P(value)};
	case IS_STRING:
		return (struct rlb_value){
			.kind = RLB_WORDS, .words = Z_STRVAL_P(value), .len = Z_STRLEN_P(value)};
	case IS_TRUE:
	case IS_FALSE:
		return (struct rlb_value){.kind = RLB_FLAG, .integer = Z_TYPE_P(value) == IS_TRUE};
	default:
		return (struct rlb_value){.kind = RLB_OTHER};
	}
}

void
rlp_show(void *to, const char *name, const struct rlb_value *value)
{
	zval *array = to;

	if (value->kind == RLB_WORDS)
		add_assoc_string(array, name, value->words);
	else if (value->kind == RLB_FLAG)
		add_assoc_bool(array, name, value->integer != 0);
	else
		add_assoc_long(
			array, name,
			rlp_long(value->kind == RLB_NS ? value->ns : (uint64_t)value->integer));
}

ZEND_METHOD(Rl_Exception, getName)
{
	zval value, *name;

	ZEND_PARSE_PARAMETERS_NONE();
	name = zend_read_property(rlp_exception_ce, Z_OBJ_P(ZEND_THIS), ZEND_STRL("name"), 0,
	                          &value);
	RETURN_COPY_DEREF(name);
}
