/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster: the verbs that have to do with the store that hosts share limits by. */

#include "base/command.h"
#include "base/expiry.h"

const struct command_option cluster_command_options[] = {
	{"config", 'c', "FILE", "the configuration, whose 'cluster' says where the store is"},
	{"replace", 0, "N", "push: only in the place of this version; else of the one there is"},
	{"for", 'f', "DURATION", "override, ban, allow: for so long; an override else for good"},
	{"until", 'u', "TIME", "ban, allow: until when: " EXPIRY_FORMS},
	{"rule", 'r', "RULE",
         "ban, allow, unban: under this rule alone; default: under every rule"},
	{"exact", 'e', NULL,
         "reset, ban, allow, unban: KEY is this very key, whatever it looks like"},
	{"match", 0, "PREFIX*|CIDR", "reset: all keys of the rule that match"},
	{"switch", 0, NULL, "secret: use the next one, now that all hosts have it"},
	{"yes", 'y', NULL, "reset of many keys: do not ask"},
	{"reason", 'm', "TEXT", "ban, allow: why, for those who ask later; at most 96 bytes"},
	{0},
};

int
run_cluster(const struct context *context)
{
	return subverb_run(context);
}
