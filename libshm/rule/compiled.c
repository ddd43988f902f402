/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/compiled.h"

#include "algorithm/overflow_count.h"

#define INCARNATION_SHIFT 10 /* above a limit's id */

uint64_t
rl_rules_salt(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t ago)
{
	uint64_t incarnation = limit->identity >> RL_IDENTITY_INCARNATION_SHIFT;

	incarnation = (incarnation - ago) & RL_IDENTITY_INCARNATION_MASK;
	return rl_hash_with(s->key, (uint64_t)limit->id | incarnation << INCARNATION_SHIFT, "", 0)
	        .a;
}

bool
rl_rules_compile(const struct rl_segment *s, int limit, struct rl_compiled *compiled)
{
	struct rl_u128 identity;

	if (limit < 0 || (uint32_t)limit >= s->geometry.limits ||
	    !rl_atomic_load16(&s->limits[limit].identity, &identity))
		return false;
	*compiled = (struct rl_compiled){
		.row = &s->limits[limit],
		.identity = identity.lo & ~RL_IDENTITY_MARKS,
		.id = limit,
		.rule = (int)(identity.lo >> RL_IDENTITY_RULE_SHIFT & RL_IDENTITY_RULE_MASK),
		.prefix_v4 = (uint8_t)(identity.lo >> RL_IDENTITY_V4_SHIFT & RL_IDENTITY_V4_MASK),
		.prefix_v6 = (uint8_t)(identity.lo >> RL_IDENTITY_V6_SHIFT & RL_IDENTITY_V6_MASK),
	};
	compiled->salt = rl_rules_salt(s, compiled, 0);
	compiled->owner = rl_tag_owner(limit, rl_identity_incarnation(identity));
	compiled->has_prefix = compiled->prefix_v4 > 0 || compiled->prefix_v6 > 0;
	if ((identity.lo & RL_IDENTITY_USED) == 0 ||
	    (uint32_t)compiled->rule >= s->geometry.rules || compiled->prefix_v4 > 32 ||
	    compiled->prefix_v6 > 128 ||
	    !rl_shape_unpack(identity, s->geometry.ring, &compiled->limiter))
		return false;
	if (identity.lo & RL_IDENTITY_CLUSTERED &&
	    (!s->geometry.clustered || !rl_shape_share(&compiled->limiter)))
		return false;
	compiled->has_overflow = rl_overflow_limiter(&compiled->limiter, &compiled->overflow);
	return true;
}
