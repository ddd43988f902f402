/* SPDX-License-Identifier: BSD-2-Clause */
/* What Segment's constructor takes, as struct rl_options. */
#include <grp.h>

#include "php_rl.h"

#include "text.h"
#include "words.h"

enum kind {
	NUMBER,
	FLAG,
	BUFFER,
	GROUP,
	FULL,
	ON_ERROR
};

static const struct option {
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t most; /* of a flag: its bit */
} table[] = {
	{"keys", NUMBER, offsetof(struct rl_options, keys), RL_KEYS_MAX},
	{"ring", NUMBER, offsetof(struct rl_options, ring), RL_RING_MAX},
	{"key_bytes", NUMBER, offsetof(struct rl_options, key_bytes), RL_KEY_MAX},
	{"rules", NUMBER, offsetof(struct rl_options, rules), RL_RULES_MAX},
	{"overrides", NUMBER, offsetof(struct rl_options, overrides), RL_OVERRIDES_MAX},
	{"bans", NUMBER, offsetof(struct rl_options, bans), RL_BANS_MAX},
	{"holders", NUMBER, offsetof(struct rl_options, holders), RL_HOLDERS_MAX},
	{"cells", NUMBER, offsetof(struct rl_options, cells), RL_CELLS_MAX},
	{"reserves", NUMBER, offsetof(struct rl_options, reserves), RL_RESERVES_MAX},
	{"events", NUMBER, offsetof(struct rl_options, events), RL_EVENTS_MAX},
	{"mode", NUMBER, offsetof(struct rl_options, mode), 0777},
	{"buffer", BUFFER, 0, 0},
	{"group", GROUP, 0, 0},
	{"on_full", FULL, 0, 0},
	{"on_error", ON_ERROR, 0, 0},
	{"readonly", FLAG, 0, RL_OPEN_READONLY},
	{"existing", FLAG, 0, RL_OPEN_EXISTING},
	{"any_owner", FLAG, 0, RL_OPEN_ANY_OWNER},
	{"huge_pages", FLAG, 0, RL_OPEN_HUGE_PAGES},
	{"populate", FLAG, 0, RL_OPEN_POPULATE},
	{"at_least", FLAG, 0, RL_OPEN_AT_LEAST},
};

static bool
bad(const struct option *option, const char *expected)
{
	zend_value_error("option %s: expected %s", option->name, expected);
	return false;
}

static bool
take_number(const struct option *option, zval *value, struct rl_options *o)
{
	uint32_t *field = (uint32_t *)((char *)o + option->offset);

	if (Z_TYPE_P(value) != IS_LONG || Z_LVAL_P(value) < 0 ||
	    (uint64_t)Z_LVAL_P(value) > option->most) {
		zend_value_error("option %s: expected an integer from 0 to %" PRIu64, option->name,
		                 option->most);
		return false;
	}
	*field = (uint32_t)Z_LVAL_P(value);
	if (*field == 0 && option->offset == offsetof(struct rl_options, ring))
		*field = RLB_RING;
	if (*field == 0 && option->offset == offsetof(struct rl_options, key_bytes))
		*field = RL_KEY_BYTES_NONE; /* as in rl.json: 0 keeps none */
	if (*field == 0 && option->offset == offsetof(struct rl_options, events))
		*field = RL_EVENTS_NONE;
	return true;
}

static bool
take_buffer(const struct option *option, zval *value, struct rl_options *o)
{
	int error = -1;

	if (Z_TYPE_P(value) == IS_STRING)
		error = rlb_duration(Z_STRVAL_P(value), Z_STRLEN_P(value), &o->buffer_ns);
	else if (Z_TYPE_P(value) == IS_LONG || Z_TYPE_P(value) == IS_DOUBLE)
		error = rlb_seconds(zval_get_double(value), &o->buffer_ns);
	return error == 0 || bad(option, "seconds, or a duration such as \"10s\"");
}

static bool
take_group(const struct option *option, zval *value, struct rl_options *o)
{
	struct group *group;

	o->flags |= RL_OPEN_GROUP;
	if (Z_TYPE_P(value) == IS_LONG && Z_LVAL_P(value) >= 0) {
		o->group = (gid_t)Z_LVAL_P(value);
		return true;
	}
	group = Z_TYPE_P(value) == IS_STRING ? getgrnam(Z_STRVAL_P(value)) : NULL;
	if (!group)
		return bad(option, "the name or the number of a group that is there");
	o->group = group->gr_gid;
	return true;
}

static int
word_of(zval *value, const char *const *words)
{
	return Z_TYPE_P(value) == IS_STRING ? rlb_word(words, Z_STRVAL_P(value), Z_STRLEN_P(value))
	                                    : -1;
}

static bool
take(const struct option *option, zval *value, struct rl_options *o, enum on_error *on_error)
{
	static const char *const errors[] = {"throw", "allow", "deny", NULL};
	int word;

	switch (option->kind) {
	case NUMBER:
		return take_number(option, value, o);
	case BUFFER:
		return take_buffer(option, value, o);
	case GROUP:
		return take_group(option, value, o);
	case FLAG:
		o->flags |= zend_is_true(value) ? (unsigned)option->most : 0;
		return true;
	case FULL:
		word = word_of(value, rlb_on_full);
		o->on_full = (enum rl_on_full)word;
		return word >= 0 || bad(option, "\"reserve\", \"deny\", \"allow\" or \"evict\"");
	default:
		word = word_of(value, errors);
		*on_error = (enum on_error)word;
		return word >= 0 || bad(option, "\"throw\", \"allow\" or \"deny\"");
	}
}

static const struct option *
find(const zend_string *name)
{
	for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
		if (zend_string_equals_cstr(name, table[i].name, strlen(table[i].name)))
			return &table[i];
	return NULL;
}

bool
rlp_options(zval *array, struct rl_options *options, enum on_error *on_error)
{
	const struct option *option;
	zend_string *name;
	zval *value;

	*options = (struct rl_options){.ring = RLB_RING};
	*on_error = ON_ERROR_THROW;
	if (!array)
		return true;
	ZEND_HASH_FOREACH_STR_KEY_VAL(Z_ARRVAL_P(array), name, value)
	{
		ZVAL_DEREF(value);
		option = find(name);
		if (!option) {
			zend_value_error("there is no option %s",
			                 name ? ZSTR_VAL(name) : "with a number for its name");
			return false;
		}
		if (!take(option, value, options, on_error))
			return false;
	}
	ZEND_HASH_FOREACH_END();
	return true;
}
