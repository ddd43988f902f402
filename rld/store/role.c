/* SPDX-License-Identifier: BSD-2-Clause */
#include "role.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char role_claim[] =
	"local n, id = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+):(%x+)$')\n"
	"local T = redis.call('TIME')\n"
	"n = tonumber(n or T[1] * 1000 + math.floor(T[2] / 1000))\n"
	"if id ~= ARGV[1] then\n"
	"  n = n + 1\n"
	"  redis.call('SET', KEYS[1], string.format('%.0f:%s', n, ARGV[1]))\n"
	"end\n"
	"return n\n";

/* Who has no predecessor says so by zeros. */
static void
read_id(const char *text, const char *name, char id[static ROLE_ID])
{
	store_line(text, name, id, ROLE_ID);
	if (strspn(id, "0") == strlen(id))
		id[0] = '\0';
}

void
role_read(struct role *r, const struct store_value *v)
{
	const char *text = store_text(v);
	char role[12], replicas[12];

	*r = (struct role){.kind = v ? ROLE_UNTOLD : ROLE_UNKNOWN};
	store_line(text, "role", role, sizeof role);
	if (strcmp(role, "master") == 0)
		r->kind = ROLE_MASTER;
	else if (role[0] != '\0')
		r->kind = ROLE_REPLICA;
	read_id(text, "master_replid", r->id);
	read_id(text, "master_replid2", r->before);
	store_line(text, "connected_slaves", replicas, sizeof replicas);
	r->replicas = (uint16_t)strtoul(replicas, NULL, 10);
}

void
role_read_epoch(struct role *r, const struct store_value *v)
{
	char *end;

	r->epoch = strtoull(store_text(v), &end, 10);
	snprintf(r->epoch_id, sizeof r->epoch_id, "%s", *end == ':' ? end + 1 : "");
}

static bool
is_later(const struct role *a, const struct role *b)
{
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch;
	return a->before[0] != '\0' && strcmp(a->before, b->id) == 0 &&
	       strcmp(b->before, a->id) != 0;
}

static bool
is_latest(const struct role *const roles[], size_t count, size_t number)
{
	for (size_t i = 0; i < count; i++)
		if (i != number && roles[i]->kind == ROLE_MASTER &&
		    !is_later(roles[number], roles[i]))
			return false;
	return true;
}

static size_t
count_of(const struct role *const roles[], size_t count, enum role_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += roles[i]->kind == kind;
	return n;
}

/* The first of them; count: there is none. */
static size_t
first_of(const struct role *const roles[], size_t count, enum role_kind kind)
{
	size_t i = 0;

	while (i < count && roles[i]->kind != kind)
		i++;
	return i;
}

/*
 * One without an epoch is new, or has lost all, if nobody else can have it: else it may be an old
 * one that came back empty, while the one that is used does not answer.
 */
static bool
is_good(const struct role *const roles[], size_t count, size_t number, uint64_t epoch)
{
	if (roles[number]->epoch == 0)
		return count_of(roles, count, ROLE_UNKNOWN) == 0;
	return roles[number]->epoch >= epoch;
}

struct role_choice
role_choose(const struct role *const roles[], size_t count, uint64_t epoch)
{
	size_t first = first_of(roles, count, ROLE_MASTER);

	if (first == count) {
		first = first_of(roles, count, ROLE_UNTOLD);
		return (struct role_choice){first < count ? ROLE_USE : ROLE_NOBODY, first};
	}
	for (size_t i = first; i < count; i++) {
		if (roles[i]->kind != ROLE_MASTER || !is_latest(roles, count, i))
			continue;
		if (is_good(roles, count, i, epoch))
			return (struct role_choice){ROLE_USE, i};
		return (struct role_choice){ROLE_OLD, i};
	}
	return (struct role_choice){ROLE_TWO, first};
}

bool
role_named(const struct store_value *v, struct store_address *to, uint64_t *epoch)
{
	const char *ip = "";
	int64_t port = 0;

	*epoch = 0;
	if (!v || v->type != STORE_ARRAY)
		return false;
	for (size_t i = 0; i + 1 < v->count; i += 2) {
		const char *name = store_text(v->items[i]);

		if (strcmp(name, "ip") == 0)
			ip = store_text(v->items[i + 1]);
		else if (strcmp(name, "port") == 0)
			port = store_integer(v->items[i + 1], 0);
		else if (strcmp(name, "config-epoch") == 0)
			*epoch = (uint64_t)store_integer(v->items[i + 1], 0);
	}
	if (ip[0] == '\0' || strlen(ip) >= sizeof to->host || port < 1 || port > UINT16_MAX)
		return false;
	*to = (struct store_address){.port = (unsigned)port};
	strcpy(to->host, ip);
	return true;
}
