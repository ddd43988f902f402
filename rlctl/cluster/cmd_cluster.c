/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster: the verbs that have to do with the store that hosts share limits by. */

#include <string.h>

#include "base/expiry.h"
#include "base/output.h"
#include "cluster/cluster_verb.h"
#include "text/suggest.h"

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
	{"yes", 'y', NULL, "reset of many keys: do not ask"},
	{"reason", 'm', "TEXT", "ban, allow: why, for those who ask later; at most 96 bytes"},
	{0},
};

static const struct verb {
	const char *name;
	const char *synopsis;
	int operands_min;
	int operands_max;
	int (*run)(const struct context *context, char **operands);
} verbs[] = {
	{"status", "", 0, 0, cluster_status},
	{"hosts", "", 0, 0, cluster_hosts},
	{"show", "RULE KEY", 2, 2, cluster_show},
	{"override", "RULE KEY [CAPACITY|unlimited|none]", 2, 3, cluster_override},
	{"push", "FILE", 1, 1, cluster_push},
	{"pull", "", 0, 0, cluster_pull},
	{"diff", "FILE", 1, 1, cluster_diff},
	{"reset", "RULE [KEY]", 1, 2, cluster_reset},
	{"ban", "PATTERN [--for D | --until TIME]", 1, 1, cluster_ban},
	{"allow", "PATTERN [--for D | --until TIME]", 1, 1, cluster_allow},
	{"unban", "PATTERN", 1, 1, cluster_unban},
	{"forget", "HOST", 1, 1, cluster_forget},
};

#define VERBS (sizeof verbs / sizeof verbs[0])

static const struct verb *
find_verb(const char *name)
{
	const char *names[VERBS + 1] = {0};
	const char *near;

	for (size_t i = 0; i < VERBS; i++) {
		names[i] = verbs[i].name;
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	}
	near = suggest(name, names);
	if (near)
		complain("cluster: unknown verb '%s'; did you mean '%s'?", name, near);
	else
		complain("cluster: unknown verb '%s'; see 'rlctl help cluster'", name);
	return NULL;
}

int
run_cluster(const struct context *context)
{
	const struct verb *verb = find_verb(context->operands[0]);
	int count = context->operand_count - 1;

	if (!verb)
		return EXIT_TROUBLE;
	if (count >= verb->operands_min && count <= verb->operands_max)
		return verb->run(context, context->operands + 1);
	complain("cluster %s: %s operand; usage: rlctl cluster %s %s", verb->name,
	         count < verb->operands_min ? "missing" : "unexpected", verb->name, verb->synopsis);
	return EXIT_TROUBLE;
}
