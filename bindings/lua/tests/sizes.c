/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes and offsets of what LuaJIT's ffi declares, to compare. */
#include <rl_flight.h>
#include <stdio.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define OFFSET(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(type, field))

int
main(void)
{
	SIZE(struct rl_result);
	OFFSET(struct rl_result, verdict);
	OFFSET(struct rl_result, error);
	OFFSET(struct rl_result, remaining);
	OFFSET(struct rl_result, used);
	OFFSET(struct rl_result, retry_after_ns);
	OFFSET(struct rl_result, reset_after_ns);
	OFFSET(struct rl_result, delay_ns);
	SIZE(struct rl_item);
	OFFSET(struct rl_item, key);
	OFFSET(struct rl_item, cost);
	OFFSET(struct rl_item, burst);
	OFFSET(struct rl_item, flags);
	OFFSET(struct rl_item, charges);
	SIZE(struct rl_charges);
	SIZE(struct rl_hold);
	SIZE(struct rl_options);
	SIZE(struct rl_limit);
	SIZE(struct rl_rule);
	return 0;
}
