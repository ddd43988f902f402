/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PHP_RL_H
#define PHP_RL_H

/* What the files of the extension share. */

#include <php.h>

#include "segment.h"
#include "values.h"

#define PHP_RL_VERSION "0.2.0"

enum on_error {
	ON_ERROR_THROW,
	ON_ERROR_ALLOW,
	ON_ERROR_DENY
};

/* A rule or a space as this process has it, remembered over requests. */
struct rule_entry {
	struct rule_entry *next;
	struct rlb_rule r;
};

/*
 * A segment as this process has it open. The table of the process has one reference, and each
 * object one: a private segment has no place in the table, and goes with its last object.
 */
struct handle {
	struct rlb_segment s;
	struct rule_entry *rules;
	unsigned references;
	int warned;      /* the trouble that was warned of last */
	bool is_warning; /* a handler of errors runs in the middle of a call: it may not close */
};

struct segment_object {
	struct handle *handle;
	enum on_error on_error;
	zend_object std;
};

/* Of a Rule and of Counters. */
struct rule_object {
	struct handle *handle;
	struct rule_entry *entry;
	enum on_error on_error;
	zend_object std;
};

/* A key, as it is or as its digest. */
struct key {
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

ZEND_BEGIN_MODULE_GLOBALS(rl)
HashTable handles;
ZEND_END_MODULE_GLOBALS(rl)
ZEND_EXTERN_MODULE_GLOBALS(rl)
#define RL_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(rl, v)

extern zend_module_entry rl_module_entry;
extern zend_class_entry *rlp_exception_ce, *rlp_denied_ce, *rlp_segment_ce, *rlp_rule_ce,
	*rlp_result_ce, *rlp_counters_ce, *rlp_proxies_ce;

#define OBJECT(type, object) ((struct type *)((char *)(object)-XtOffsetOf(struct type, std)))
#define THIS(type) OBJECT(type, Z_OBJ_P(ZEND_THIS))

/* php_error.c: `what` is put before what librl says. */
void rlp_throw(int error, const char *format, ...) PHP_ATTRIBUTE_FORMAT(printf, 2, 3);
void rlp_throw_text(int error, const char *text);

/* php_handle.c */
struct handle *rlp_handle_open(const char *name, const struct rl_options *options, int *error);
struct handle *rlp_handle_private(const struct rl_options *options, int *error);
void rlp_handle_keep(struct handle *handle);
void rlp_handle_drop(struct handle *handle);
void rlp_handle_look(struct handle *handle);
void rlp_handle_free(zval *value); /* of the table */

static inline uint64_t
rlp_now(struct handle *handle)
{
	uint64_t now_ns = rl_now(handle->s.rl);

	if (UNEXPECTED(now_ns >= handle->s.look_ns)) {
		rlp_handle_look(handle);
		now_ns = rl_now(handle->s.rl);
	}
	return now_ns;
}

/* php_options.c */
struct rlb_value rlp_value(zval *value);
rlb_show rlp_show; /* in an array */
/* False after an exception. */
bool rlp_options(zval *array, struct rl_options *options, enum on_error *on_error);

/* php_rule.c */
zend_object *rlp_rule_create(zend_class_entry *ce);
bool rlp_rule_object(zval *to, zend_class_entry *ce, struct segment_object *segment,
                     struct rule_entry *entry);
struct rule_entry *rlp_rule_define(struct handle *handle, zend_string *name, zval *limit,
                                   bool keep);
struct rule_entry *rlp_rule_find(struct handle *handle, zend_string *name, enum rlb_rule_kind kind);

void rlp_rule_init(void);

/* php_result.c */
struct kept {
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX];
	size_t hold_count;
	pid_t process; /* a child of fork has a copy, and its parent still holds */
};
struct kept *rlp_kept_new(void);
zend_object *rlp_result_create(zend_class_entry *ce);
void rlp_result_object(zval *to, struct rule_object *rule, const struct rl_result *result,
                       uint64_t now_ns, struct kept *kept);
void rlp_result_init(void);
bool rlp_passes(const struct rule_entry *entry, enum on_error on_error,
                const struct rl_result *result);

/* php_segment.c */
zend_object *rlp_segment_create(zend_class_entry *ce);
void rlp_segment_init(void);

/* php_http.c */
zend_object *rlp_proxies_create(zend_class_entry *ce);
void rlp_proxies_init(void);

/* Is it open? If not, it throws. */
bool rlp_is_open(struct handle *handle);

/* Arguments. */
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

#endif
