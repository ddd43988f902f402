/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_reason.h"

#include <string.h>

#include "base/output.h"

static int
copy_reason(const struct rl_ban_info *ban, void *arg)
{
	char **reason = arg;

	if (!ban->is_exemption && ban->reason_len > 0)
		*reason = need(strndup(ban->reason, ban->reason_len));
	return 0;
}

char *
ban_reason(struct rl *rl, int rule, const struct key_view *key, const struct usage *usage)
{
	char *reason = NULL;

	if (usage->state == RL_ENTRY_BANNED && key->bytes && key->kept == key->len)
		rl_ban_of(rl, rule, key->bytes, key->len, rl_now(rl), copy_reason, &reason);
	return reason;
}
