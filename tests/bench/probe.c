/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe.h"

void
probe_now(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	struct rl_result r = {0};

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_at(p->rl, p->item.rule, p->item.key, p->item.key_len, 1, BENCH_T0, &r);
	bench_sink = r.remaining;
}

void
probe_clock(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	struct rl_result r = {0};

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check(p->rl, p->item.rule, p->item.key, p->item.key_len, 1, &r);
	bench_sink = r.remaining;
}
