/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/handle.h"

#include <errno.h>
#include <stdlib.h>

#include "rl.h"

/*
 * A limit that starts anew is compiled anew. The earlier one, some 150 bytes, is cached, for
 * threads may still use it. Damage that makes a row start anew all the time must not fill the
 * memory: hence these bounds, which are more than anybody configures.
 */
#define COMPILED_AT_ONCE (2 * RL_RENEWALS_AT_ONCE)
#define COMPILED_EACH (RL_RENEWALS_EACH / 2)

/* May one more be compiled? */
static bool
may_compile(const struct rl *rl)
{
	uint64_t now_ns = rl_segment_now(&rl->segment),
		 open_ns = now_ns > rl->handle->opened_ns ? now_ns - rl->handle->opened_ns : 0;

	return rl_atomic_load_relaxed(&rl->handle->compiled) <
	       COMPILED_AT_ONCE + open_ns / COMPILED_EACH;
}

/*
 * If another thread publishes its own first, that one is used. The earlier one stays until the end,
 * for other threads may still use it.
 */
const struct rl_compiled *
rl_handle_compile(struct rl *rl, int limit)
{
	struct rl_compiled *earlier = (struct rl_compiled *)rl_handle_known(rl, limit), *mine;

	if (limit < 0 || (uint32_t)limit >= rl->segment.geometry.limits || !may_compile(rl))
		return NULL;
	mine = malloc(sizeof *mine);
	if (mine && rl_rules_compile(&rl->segment, limit, mine)) {
		mine->earlier = earlier;
		if (rl_atomic_publish_pointer((void **)&rl->limits[limit], earlier, mine)) {
			rl_atomic_add(&rl->handle->compiled, 1);
			return mine;
		}
	}
	free(mine);
	earlier = (struct rl_compiled *)rl_handle_known(rl, limit);
	return earlier && rl_compiled_holds(earlier) ? earlier : NULL;
}

int
rl_handle_no_limit(const struct rl *rl, int limit)
{
	struct rl_compiled compiled;

	return rl_rules_compile(&rl->segment, limit, &compiled) ? -ENOMEM : -EINVAL;
}
