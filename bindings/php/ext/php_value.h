/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PHP_RL_VALUE_H
#define PHP_RL_VALUE_H

/* Errors, and arguments and answers as values of PHP. */

#include <php.h>

#include "values.h"

/* `what` is put before what librl says. */
void rlp_throw(int error, const char *format, ...) PHP_ATTRIBUTE_FORMAT(printf, 2, 3);
void rlp_throw_text(int error, const char *text);

/* A key, as it is or as its digest. */
struct key {
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

static inline void
rlp_key(struct key *key, const zend_string *string)
{
	key->bytes = ZSTR_VAL(string);
	key->len = ZSTR_LEN(string);
	if (UNEXPECTED(key->len > RL_KEY_MAX)) {
		key->len = rl_key_digest(key->bytes, key->len, key->digest);
		key->bytes = key->digest;
	}
}

/*
 * A duration in seconds that may be null: never. False after an exception about argument number
 * `arg`.
 */
bool rlp_seconds(double seconds, bool is_null, uint32_t arg, uint64_t *ns);
zend_long
rlp_long(uint64_t ns); /* what is too much for an int is ZEND_LONG_MAX, which is Rl\NEVER_NS */

/* As bindings/common has them. */
struct rlb_value rlp_value(zval *value);
rlb_show rlp_show; /* in an array */

#endif
