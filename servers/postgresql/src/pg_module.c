/* SPDX-License-Identifier: BSD-2-Clause */
/* What PostgreSQL loads: settings. */
#include "rl_pg.h"

#include <fmgr.h>
#include <miscadmin.h>
#include <utils/guc.h>

PG_MODULE_MAGIC;

char *rlpg_segment_name, *rlpg_group, *rlpg_rules, *rlpg_auth_rule, *rlpg_auth_user_rule;
int rlpg_on_error = RLPG_ERROR;

static const struct config_enum_entry on_error_words[] = {
	{"error", RLPG_ERROR, false},
	{"allow", RLPG_ALLOW, false},
	{"deny", RLPG_DENY, false},
	{NULL, 0, false},
};

static bool
check_rules(char **text, void **extra, GucSource source)
{
	char why[512];

	if (rlpg_rules_check(*text, why, sizeof why))
		return true;
	GUC_check_errdetail("%s", why);
	return false;
}

static void
assign_rules(const char *text, void *extra)
{
	rlpg_rules_changed();
}

static void
define(const char *name, const char *text, char **value, const char *first,
       GucStringCheckHook check, GucStringAssignHook assign)
{
	DefineCustomStringVariable(name, text, NULL, value, first, PGC_SIGHUP, 0, check, assign,
	                           NULL);
}

void _PG_init(void);

void
_PG_init(void)
{
	define("rl.segment", "The segment that counts, of sessions that begin.", &rlpg_segment_name,
	       "postgresql", NULL, NULL);
	define("rl.group", "The group of the system that shares the segment.", &rlpg_group, "",
	       NULL, NULL);
	define("rl.rules", "Rules, as in 'api limit=100/min; jobs algorithm=in_flight capacity=2'.",
	       &rlpg_rules, "", check_rules, assign_rules);
	define("rl.auth_rule", "The rule of failed logins by address.", &rlpg_auth_rule, "", NULL,
	       NULL);
	define("rl.auth_user_rule", "The rule of failed logins by user.", &rlpg_auth_user_rule, "",
	       NULL, NULL);
	DefineCustomEnumVariable("rl.on_error", "What is answered where nothing can be decided.",
	                         NULL, &rlpg_on_error, RLPG_ERROR, on_error_words, PGC_SUSET, 0,
	                         NULL, NULL, NULL);
	MarkGUCPrefixReserved("rl");
	rlpg_calls_init();
	if (process_shared_preload_libraries_in_progress)
		rlpg_auth_init();
}
