/* SPDX-License-Identifier: BSD-2-Clause */
/* What Segment's constructor takes, as struct rl_options. */
#include "php_object.h"
#include "php_value.h"

#include "options.h"
#include "words.h"

static bool
take(zend_string *name, const struct rlb_value *value, struct rl_options *o,
     enum on_error *on_error)
{
	static const char *const errors[] = {"throw", "allow", "deny", NULL};
	char why[RLB_TEXT_SIZE] = "on_error: expected \"throw\", \"allow\" or \"deny\"";
	int word;

	if (!zend_string_equals_literal(name, "on_error")) {
		word = rlb_option_set(o, ZSTR_VAL(name), ZSTR_LEN(name), value, why);
		if (word > 0)
			php_error_docref(NULL, E_DEPRECATED, "option %s", why);
		if (word >= 0)
			return true;
	} else {
		word = value->kind == RLB_WORDS ? rlb_word(errors, value->words, value->len) : -1;
		*on_error = (enum on_error)word;
		if (word >= 0)
			return true;
	}
	zend_value_error("option %s", why);
	return false;
}

bool
rlp_options(zval *array, struct rl_options *options, enum on_error *on_error)
{
	struct rlb_value v;
	zend_string *name;
	zval *value;

	*options = rlb_options;
	*on_error = ON_ERROR_THROW;
	if (!array)
		return true;
	ZEND_HASH_FOREACH_STR_KEY_VAL(Z_ARRVAL_P(array), name, value)
	{
		v = rlp_value(value);
		if (!name) {
			zend_value_error("options have names");
			return false;
		}
		if (!take(name, &v, options, on_error))
			return false;
	}
	ZEND_HASH_FOREACH_END();
	return true;
}
