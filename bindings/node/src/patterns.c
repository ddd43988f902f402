/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

/* A pattern is two arguments: which enum rl_match, and the key. */
static bool
call_pattern(struct call *c, size_t arg, struct key *key, struct rl_pattern *pattern)
{
	int32_t match;

	if (!call_i32(c, arg, &match) || !value_key(c->env, c->argv[arg + 1], key))
		return false;
	*pattern = (struct rl_pattern){(enum rl_match)match, key->bytes, key->len};
	return true;
}

/*
 * resetMatching(segment, rule, match, key, counts): `counts` is an array that gets [forgotten,
 * unknown]
 */
NATIVE(resetMatching)
{
	struct call c;
	struct used_segment *used;
	struct key key;
	struct rl_pattern pattern;
	struct rl_reset_counts counts = {0};
	bool is_all, is_counted;
	int32_t rule;
	int rc;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_i32(&c, 1, &rule))
		return NULL;
	is_all = !call_has(&c, 2);
	is_counted = call_has(&c, 4);
	if (!is_all && !call_pattern(&c, 2, &key, &pattern))
		return NULL;
	rc = rl_reset_matching(used->handle->s.rl, rule, is_all ? NULL : &pattern,
	                       is_counted ? &counts : NULL);
	if (is_counted) {
		napi_set_element(env, c.argv[4], 0, number(env, (double)counts.forgotten));
		napi_set_element(env, c.argv[4], 1, number(env, (double)counts.unknown));
	}
	return number_or_throw(env, rc, "reset");
}

enum exception {
	BAN,
	ALLOW,
	UNBAN
};

/* except(segment, what, rule, match, key, until) -> 0, or of unban 1 lifted, 0 there was none */
NATIVE(except)
{
	struct call c;
	struct used_segment *used;
	struct key key;
	struct rl_pattern pattern;
	int32_t what, rule;
	uint64_t until_ns = RL_NEVER_NS;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_i32(&c, 1, &what) || !call_i32(&c, 2, &rule) ||
	    !call_pattern(&c, 3, &key, &pattern) ||
	    (call_has(&c, 5) && !call_ns(&c, 5, "until", &until_ns)))
		return NULL;
	if (what == UNBAN)
		return number_or_throw(env, rl_unban(used->handle->s.rl, rule, &pattern), "unban");
	if (what == ALLOW)
		return number_or_throw(env, rl_allow(used->handle->s.rl, rule, &pattern, until_ns),
		                       "allow");
	return number_or_throw(env, rl_ban(used->handle->s.rl, rule, &pattern, until_ns), "ban");
}

/* digest(key) -> text: what stands for a key that is longer than 4096 bytes */
NATIVE(digest)
{
	struct call c;
	char digest[RL_KEY_DIGEST_SIZE];
	void *data;
	size_t len;

	if (!call_begin(&c, env, info))
		return NULL;
	if (napi_get_buffer_info(env, c.argv[0], &data, &len) != napi_ok)
		return throw_type(env, "a key", "a Buffer");
	rl_key_digest(data, len, digest);
	return text(env, digest);
}
