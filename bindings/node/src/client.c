/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <rl_http.h>
#include <stdlib.h>

#define LINES_MAX 64
#define LINE_MAX_BYTES 65536 /* of all lines; a server's header fields have less */

struct asked {
	struct rl_http_trust trust;
	struct rl_http_network networks[64];
	struct rl_http_value lines[LINES_MAX];
	char peer[256];
	size_t peer_len, count;
	char text[LINE_MAX_BYTES];
};

static bool
length_of(napi_env env, napi_value array, const char *what, uint32_t most, uint32_t *count)
{
	if (napi_get_array_length(env, array, count) == napi_ok && *count <= most)
		return true;
	throw_type(env, what, "an array of at most 64 texts");
	return false;
}

static bool
read_networks(struct call *c, struct asked *a)
{
	char text[64];
	size_t len;
	uint32_t count;

	if (!length_of(c->env, c->argv[1], "trust", 64, &count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (napi_get_value_string_utf8(c->env, array_of(c->env, c->argv[1], i), text,
		                               sizeof text, &len) != napi_ok ||
		    rl_http_network(text, &a->networks[i]) < 0) {
			throw_range(c->env, "trust",
			            "'ADDRESS/BITS', an address or 'unix:' is allowed");
			return false;
		}
	a->trust.networks = a->networks;
	a->trust.count = count;
	return true;
}

/* The end of a field counts: what does not fit is left out from its beginning. */
static bool
read_lines(struct call *c, struct asked *a)
{
	size_t at = 0, len;
	uint32_t count;

	if (!length_of(c->env, c->argv[2], "the field", LINES_MAX, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (napi_get_value_string_utf8(c->env, array_of(c->env, c->argv[2], i),
		                               a->text + at, sizeof a->text - at,
		                               &len) != napi_ok) {
			throw_type(c->env, "a line of the field", "a text");
			return false;
		}
		a->lines[i] = (struct rl_http_value){a->text + at, len};
		at += len;
	}
	a->count = count;
	return at < sizeof a->text - 1 ||
	       throw_range(c->env, "the field", "it has more than 65535 bytes") != NULL;
}

static bool
read_numbers(struct call *c, struct asked *a)
{
	double v4, v6;
	int32_t field;

	if (!call_i32(c, 3, &field) || !call_whole(c, 4, "prefixV4", 0, 32, &v4) ||
	    !call_whole(c, 5, "prefixV6", 0, 128, &v6))
		return false;
	a->trust.field = (enum rl_http_field)field;
	a->trust.prefix_v4 = (unsigned)v4;
	a->trust.prefix_v6 = (unsigned)v6;
	return true;
}

static napi_value
find(struct call *c, struct asked *a)
{
	static const char *const ends[] = {"found", "listed", "no_address", "far"};
	struct rl_http_client client;
	napi_value to;
	int rc;

	if (napi_get_value_string_utf8(c->env, c->argv[0], a->peer, sizeof a->peer, &a->peer_len) !=
	    napi_ok)
		return throw_type(c->env, "peer", "a text");
	if (!read_networks(c, a) || !read_lines(c, a) || !read_numbers(c, a))
		return NULL;
	rc = rl_http_client(&a->trust, (struct rl_http_value){a->peer, a->peer_len}, a->lines,
	                    a->count, &client);
	if (rc < 0)
		return throw_rl(c->env, rc, "client", "the peer is no address");
	napi_create_object(c->env, &to);
	set_text(c->env, to, "address", client.address);
	set_text(c->env, to, "end", ends[client.end]);
	set_number(c->env, to, "hops", client.hops);
	return to;
}

/* client(peer, networks, lines, field, prefixV4, prefixV6) -> {address, end, hops} */
NATIVE(client)
{
	struct call c;
	struct asked *asked;
	napi_value to;

	if (!call_begin(&c, env, info))
		return NULL;
	asked = calloc(1, sizeof *asked);
	if (asked == NULL)
		return throw_rl(env, -ENOMEM, "client", NULL);
	to = find(&c, asked);
	free(asked);
	return to;
}
