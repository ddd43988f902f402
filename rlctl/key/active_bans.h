/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ACTIVE_BANS_H
#define RLCTL_ACTIVE_BANS_H

/*
 * Bans and exemptions that stand: collected, in words, and in JSON. Overrides for a time are
 * collected likewise; timed.h has the rest of them.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/output.h"

struct active_ban {
	int rule;          /* or RL_ANY_RULE; of an override: it is not known whose it is */
	unsigned limit;    /* of an override: which of the rule's, */
	uint32_t capacity; /* and what it is for the key */
	bool is_exemption;
	bool is_automatic;  /* a rule's own, for denials */
	bool is_configured; /* an override of the configuration */
	enum rl_match match;
	struct key_view key; /* of the pattern; its bytes are a copy */
	uint64_t until_ns;
	bool has_note; /* else the rest is not known */
	uint32_t author;
	uint64_t since_ns, hits;
	char *reason; /* a copy; NULL: none */
};

struct active_bans {
	struct active_ban *items;
	size_t count, room;
	uint64_t now_ns;
};

/*
 * Those in force for `rule`, or all for RL_ANY_RULE; with `key`, those that match it. Those that
 * end first come first.
 */
struct active_bans active_bans_collect(struct rl *rl, int rule, const struct key_view *key);
struct active_bans active_overrides_collect(struct rl *rl, int rule, const struct key_view *key);
void active_bans_free(struct active_bans *active_bans);

const char *effect_name(bool is_exemption); /* "ban" or "exemption" */
const char *match_name(enum rl_match match);

/* "ban of user:*, any rule, 9m 59s left, until ..." */
void active_ban_print(FILE *out, struct rl *rl, const struct active_ban *active_ban,
                      uint64_t now_ns);

/* "set 3m ago by root, 12 hits, for \"scraping\"", in lines below what stands, if that is known; of
 * an override without hits, which nobody counts. */
void active_ban_print_note(FILE *out, const struct active_ban *active_ban, uint64_t now_ns);

/* Each of them, with its note, as lines that begin with "stands". */
#define STANDS_INDENT "             "
void active_bans_print(FILE *out, struct rl *rl, const struct active_bans *active_bans);

/* A reason in quotes: any byte of it that is not printable is escaped. */
void reason_print(FILE *out, const char *reason);
void pattern_print(FILE *out, enum rl_match match, const struct key_view *key);
json_t *active_ban_json(struct rl *rl, const struct active_ban *active_ban);

/* When it was set, by whom and why; null where nobody knows. */
void active_ban_put_note(json_t *object, const struct active_ban *active_ban);

/* How long ago it was set. */
uint64_t active_ban_age_ns(const struct active_ban *active_ban, uint64_t now_ns);

#endif
