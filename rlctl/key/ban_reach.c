/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_reach.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/confirm.h"
#include "base/escape.h"
#include "base/match.h"
#include "key/usage.h"

#define FEW 10 /* keys that nobody is asked about */

const char *
ban_too_wide(const struct rl_pattern *pattern, const struct ban_width *most)
{
	unsigned bits;

	if (pattern->match != RL_MATCH_NETWORK)
		return NULL;
	bits = network_bits(pattern);
	if (memchr(pattern->key, ':', pattern->key_len))
		return bits < most->v6 ? most->above_v6 : NULL;
	return bits < most->v4 ? most->above_v4 : NULL;
}

const char *
ban_is_wide(const struct rl_pattern *pattern)
{
	static const struct ban_width asked = {8, 32, "is more than a /8",
	                                       "is more than a /32 of IPv6"};

	return ban_too_wide(pattern, &asked);
}

struct count {
	struct ban_hits hits;
	const struct rl_pattern *pattern;
	int rule; /* or RL_ANY_RULE */
};

/* Of a rule with prefixes the key is a network: all its addresses are hit, or it is not counted. */
static bool
is_hit(const struct rl_pattern *pattern, const struct rl_entry *entry)
{
	struct key_view key = entry_key(entry);

	if (!entry_has_key(entry))
		return false;
	return pattern->match == RL_MATCH_NETWORK
	               ? network_has(pattern, &key)
	               : rl_pattern_matches(pattern, key.bytes, key.len) == 1;
}

/* A key of several limits is one: it is counted under the first. */
static int
count_entry(const struct rl_entry *entry, void *arg)
{
	struct count *count = arg;

	if (entry->is_stale || entry->rule < 0 || entry->limit > 0 ||
	    (count->rule != RL_ANY_RULE && entry->rule != count->rule))
		return 0;
	count->hits.keys++;
	count->hits.hit += is_hit(count->pattern, entry);
	return 0;
}

struct ban_hits
ban_hits_count(struct rl *rl, int rule, const struct rl_pattern *pattern)
{
	struct count count = {.pattern = pattern, .rule = rule};

	rl_walk(rl, rl_now(rl), NULL, count_entry, &count);
	return count.hits;
}

bool
ban_agreed(const struct context *context, struct rl *rl, const struct ban_order *order,
           const struct rl_pattern *pattern, uint64_t *hit)
{
	const char *wide = ban_is_wide(pattern);
	const char *star = pattern->match == RL_MATCH_PREFIX ? "*" : "";
	struct ban_hits hits = ban_hits_count(rl, order->rule, pattern);
	char *shown;
	bool is_agreed;

	*hit = hits.hit;
	if (!wide && (hits.hit < FEW || hits.hit < hits.keys / 10 || !isatty(STDIN_FILENO)))
		return true;
	shown = escape(pattern->key, pattern->key_len);
	is_agreed = confirm(context, "%s %s%s%s%s: %" PRIu64 " of %" PRIu64 " live keys?",
	                    order->is_exemption ? "Exempt" : "Ban", shown, star,
	                    wide ? ", which " : "", wide ? wide : "", hits.hit, hits.keys);
	if (!is_agreed && !option_value(context, "yes"))
		complain("%s: '%s%s' %s%smatches %" PRIu64 " of %" PRIu64 " live keys",
		         context->command->name, shown, star, wide ? wide : "",
		         wide ? ", and " : "", hits.hit, hits.keys);
	free(shown);
	return is_agreed;
}
