/* SPDX-License-Identifier: BSD-2-Clause */
#include "order.h"

#include <string.h>

#define HEAD 18
#define TAIL 5 /* of an override */

static void
put(unsigned char *at, uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t
get(const unsigned char *at, int bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < bytes; i++)
		number |= (uint64_t)at[i] << (8 * i);
	return number;
}

size_t
order_write(const struct order *o, unsigned char to[static ORDER_MAX])
{
	size_t rule_len = strlen(o->rule), at = HEAD;

	to[0] = (unsigned char)o->verb;
	to[1] = (unsigned char)o->match;
	put(to + 2, rule_len, 1);
	put(to + 3, o->reason_len, 1);
	put(to + 4, o->key_len, 2);
	put(to + 6, o->author, 4);
	put(to + 10, o->until_ns, 8);
	memcpy(to + at, o->rule, rule_len);
	at += rule_len;
	memcpy(to + at, o->reason, o->reason_len);
	at += o->reason_len;
	memcpy(to + at, o->key, o->key_len);
	at += o->key_len;
	if (o->verb != ORDER_OVERRIDE)
		return at;
	put(to + at, o->limit, 1);
	put(to + at + 1, o->capacity, 4);
	return at + TAIL;
}

/* Of what it says by its numbers. */
static bool
is_whole(const struct order *o, size_t rule_len)
{
	if (rule_len > RL_NAME_MAX || o->reason_len > RL_REASON_MAX || o->key_len > RL_KEY_MAX)
		return false;
	if (o->verb == ORDER_OVERRIDE)
		return rule_len > 0 && o->key_len > 0 && o->match == RL_MATCH_KEY;
	return o->key_len > 0 || (o->verb == ORDER_RESET && o->match == RL_MATCH_PREFIX);
}

bool
order_read(const unsigned char *bytes, size_t size, struct order *o)
{
	size_t rule_len, tail;

	memset(o, 0, sizeof *o);
	if (size < HEAD || bytes[0] >= ORDER_VERBS || bytes[1] > RL_MATCH_NETWORK)
		return false;
	rule_len = bytes[2];
	o->verb = (enum order_verb)bytes[0];
	o->match = (enum rl_match)bytes[1];
	o->reason_len = bytes[3];
	o->key_len = get(bytes + 4, 2);
	o->author = (uint32_t)get(bytes + 6, 4);
	o->until_ns = get(bytes + 10, 8);
	tail = o->verb == ORDER_OVERRIDE ? TAIL : 0;
	if (!is_whole(o, rule_len) || size != HEAD + rule_len + o->reason_len + o->key_len + tail)
		return false;
	memcpy(o->rule, bytes + HEAD, rule_len);
	memcpy(o->reason, bytes + HEAD + rule_len, o->reason_len);
	memcpy(o->key, bytes + HEAD + rule_len + o->reason_len, o->key_len);
	if (tail > 0) {
		o->limit = bytes[size - TAIL];
		o->capacity = (uint32_t)get(bytes + size - TAIL + 1, 4);
	}
	return strlen(o->rule) == rule_len;
}

size_t
order_subject(const struct order *o, unsigned char to[static ORDER_MAX])
{
	struct order subject = *o;

	if (o->verb == ORDER_ALLOW || o->verb == ORDER_UNBAN)
		subject.verb = ORDER_BAN;
	subject.reason_len = 0;
	subject.author = 0;
	subject.until_ns = 0;
	subject.capacity = 0;
	return order_write(&subject, to);
}
