/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_reach.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/confirm.h"
#include "base/escape.h"
#include "key/usage.h"

#define BITS_V4 8
#define BITS_V6 32
#define FEW 10 /* keys that nobody is asked about */

bool
ban_network_bits(const struct rl_pattern *pattern, unsigned *bits, bool *is_v6)
{
	const char *text = pattern->key, *slash;

	*bits = 0;
	*is_v6 = false;
	if (pattern->match != RL_MATCH_NETWORK)
		return false;
	slash = memchr(text, '/', pattern->key_len);
	if (!slash)
		return false;
	for (const char *c = slash + 1; c < text + pattern->key_len; c++)
		*bits = *bits * 10 + (unsigned)(*c - '0');
	*is_v6 = memchr(text, ':', pattern->key_len) != NULL;
	return true;
}

const char *
ban_is_wide(const struct rl_pattern *pattern)
{
	unsigned bits;
	bool is_v6;

	if (!ban_network_bits(pattern, &bits, &is_v6))
		return NULL;
	if (is_v6)
		return bits < BITS_V6 ? "is more than a /32 of IPv6" : NULL;
	return bits < BITS_V4 ? "is more than a /8" : NULL;
}

struct count {
	struct ban_hits hits;
	const struct rl_pattern *pattern;
	int rule; /* or RL_ANY_RULE */
};

/* A key of several limits is one: it is counted under the first. */
static int
count_entry(const struct rl_entry *entry, void *arg)
{
	struct count *count = arg;

	if (entry->is_stale || entry->rule < 0 || entry->limit > 0 ||
	    (count->rule != RL_ANY_RULE && entry->rule != count->rule))
		return 0;
	count->hits.keys++;
	count->hits.hit += entry_has_key(entry) &&
	                   rl_pattern_matches(count->pattern, entry->key, entry->key_len) == 1;
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
