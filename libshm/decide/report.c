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
rl_report_without(const struct rl_segment *s, enum rl_event_kind kind, int rule, const void *key,
                  size_t key_len, uint64_t retry_ns, uint64_t now_ns)
{
	rl_event_report(s, &(struct rl_event_note){.kind = kind,
	                                           .rule = rule,
	                                           .time_ns = now_ns,
	                                           .key = key,
	                                           .key_len = key_len,
	                                           .retry_ns = retry_ns});
}

void
rl_report_full(const struct rl_part *p)
{
	char text[RL_NETWORK_TEXT_MAX];
	size_t len;
	const void *name = rl_part_name(p, text, &len);

	rl_report_without(p->segment, RL_EVENT_FULL, p->rule, name, len, 0, p->now_ns);
}
