/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/denials.h"

#include "segment/stats.h"

#define FROM_BITS 50
#define FROM_MASK ((UINT64_C(1) << FROM_BITS) - 1)
#define RULE_SHIFT FROM_BITS
#define INDEX_SHIFT 60
#define INDEX_MASK 7u
#define KNOWN (UINT64_C(1) << 63)

_Static_assert(RL_LIMITS_MAX <= INDEX_MASK + 1, "an index fits");
_Static_assert(RL_RULE_INDEX_MASK <= 0x3ff, "a rule's row fits");

/* Which words, of which rule; none of them is `from`. */
static uint64_t
place(int rule, unsigned index)
{
	return KNOWN | (uint64_t)(index & INDEX_MASK) << INDEX_SHIFT |
	       (uint64_t)rl_rule_row(rule) << RULE_SHIFT;
}

/*
 * The sum of the words, less what is not the limit's; 0 if that were negative, for the rule has
 * begun with zeros since.
 */
static uint64_t
own(const struct rl_segment *s, int rule, uint64_t word, bool is_shadow)
{
	unsigned index = word >> INDEX_SHIFT & INDEX_MASK;
	uint64_t count;

	if ((word & ~FROM_MASK) != place(rule, index))
		return 0;
	count = (rl_stats_sum_limit(s, rule, index, is_shadow) - word) & FROM_MASK;
	return count <= FROM_MASK / 2 ? count : 0;
}

static void
begin(const struct rl_segment *s, int rule, uint64_t *word, unsigned index, bool is_shadow)
{
	uint64_t seen = rl_atomic_load_relaxed(word), from;

	if ((seen & ~FROM_MASK) == place(rule, index))
		return;
	from = rl_stats_sum_limit(s, rule, index, is_shadow) - own(s, rule, seen, is_shadow);
	rl_atomic_cas(word, seen, place(rule, index) | (from & FROM_MASK));
}

void
rl_denials_begin(const struct rl_segment *s, int rule, struct rl_limit_row *row, unsigned index)
{
	if (!s->is_writable)
		return;
	begin(s, rule, &row->denied_from, index, false);
	begin(s, rule, &row->shadow_denied_from, index, true);
}

void
rl_denials_clear(struct rl_limit_row *row)
{
	rl_atomic_store(&row->denied_from, 0);
	rl_atomic_store(&row->shadow_denied_from, 0);
}

void
rl_denials_of_limit(const struct rl_segment *s, int rule, const struct rl_limit_row *row,
                    uint64_t *denied, uint64_t *shadow_denied)
{
	*denied = own(s, rule, rl_atomic_load_relaxed(&row->denied_from), false);
	*shadow_denied = own(s, rule, rl_atomic_load_relaxed(&row->shadow_denied_from), true);
}
