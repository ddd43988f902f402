/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PG_H
#define RL_PG_H

/* What the files of the extension share. A backend has one thread. */

#include <postgres.h>

#include <rl_admin.h>

#include "segment.h"

/* What is answered where the segment cannot decide. */
enum rlpg_on_error {
	RLPG_ERROR, /* an error of SQL; a login goes on */
	RLPG_ALLOW,
	RLPG_DENY
};

/* Settings, of postgresql.conf. */
extern char *rlpg_segment_name, *rlpg_group, *rlpg_rules, *rlpg_auth_rule, *rlpg_auth_user_rule;
extern int rlpg_on_error;

/*
 * The segment of this backend, opened at its first use and found anew when it was replaced. NULL:
 * it cannot be opened, and *error says why.
 */
struct rlb_segment *rlpg_segment(int *error);
void rlpg_close(void);

/*
 * The rule of that name: of rl.rules, or one that is in the segment. It lives as long as rl.rules
 * is what it is. NULL: the name is too long.
 */
struct rlb_rule *rlpg_rule(const char *name);

/* Is it a text of rules? Of a wrong one `why` says what is wrong. */
bool rlpg_rules_check(const char *text, char *why, size_t size);
void rlpg_rules_changed(void);

/*
 * Decide: `item` has all but the rule. Returns the segment that it was, as it is now; NULL: there
 * is none, which is an error of the result.
 */
struct rlb_segment *rlpg_decide(const char *rule, struct rl_item *item, enum rl_how how,
                                struct rl_result *result);

void rlpg_calls_init(void);
void rlpg_auth_init(void);

#endif
