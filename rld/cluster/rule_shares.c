/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule_shares.h"

#include <stdlib.h>

/* Its index, or the count. */
static size_t
find(const struct rule_shares *l, int rule)
{
	size_t i = l->last < l->count && l->of[l->last].rule == rule ? l->last : 0;

	while (i < l->count && l->of[i].rule != rule)
		i++;
	return i;
}

static bool
add(struct rule_shares *l, int rule)
{
	size_t room = l->room > 0 ? 2 * l->room : 8;
	struct rule_share *grown = l->of;

	if (l->count == l->room) {
		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return false;
		l->of = grown;
		l->room = room;
	}
	grown[l->count++] = (struct rule_share){.rule = rule};
	return true;
}

bool
rule_shares_change(struct rule_shares *l, int rule, uint32_t before, uint32_t now)
{
	size_t i = find(l, rule);

	if (i == l->count && !add(l, rule))
		return false;
	l->last = i;
	l->of[i].shares += (uint64_t)(now > 0) - (uint64_t)(before > 0);
	l->of[i].sum += (uint64_t)now - before;
	return true;
}

struct rule_share
rule_shares_of(const struct rule_shares *l, int rule)
{
	size_t i = find(l, rule);

	return i < l->count ? l->of[i] : (struct rule_share){.rule = rule};
}

void
rule_shares_free(struct rule_shares *l)
{
	free(l->of);
	*l = (struct rule_shares){0};
}
