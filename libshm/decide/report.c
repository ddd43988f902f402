/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/report.h"

#include "segment/event.h"

const void *
rl_part_name(const struct rl_part *p, char text[RL_NETWORK_TEXT_MAX], size_t *len)
{
	*len = p->key ? p->key_len : rl_network_text(p->network, text);
	return p->key ? p->key : text;
}

void
rl_report_full(const struct rl_part *p)
{
	char text[RL_NETWORK_TEXT_MAX];
	size_t len;
	const void *name = rl_part_name(p, text, &len);

	rl_event_report(p->segment, &(struct rl_event_note){.kind = RL_EVENT_FULL,
	                                                    .rule = p->rule,
	                                                    .time_ns = p->now_ns,
	                                                    .key = name,
	                                                    .key_len = len});
}
