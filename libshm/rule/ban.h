/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BAN_H
#define RL_BAN_H

/*
 * Bans, exemptions, and overrides for a time: a small open-addressed table, each entry one 16-byte
 * word that one CAS sets, replaces or lifts. An entry whose time is over, or that was lifted, is
 * free to be replaced but never empty again, so a lookup ends at the first that never was used.
 */

#include "rl_admin.h"
#include "rule/pattern.h"
#include "shared/budget.h"

struct rl_ban {
	int rule;
	enum rl_match match;
	bool is_exemption;
	bool is_automatic; /* a rule has set it, for denials: of a key, and no exemption */
	uint64_t until_ns; /* RL_NEVER_NS: no end */
	uint32_t slot;     /* of one that was found: where its note is */
	uint32_t capacity; /* other than 0: an override for a time, of */
	unsigned limit;    /* this one of the rule's, which the note knows */
};

/* The bans and exemptions that apply to a key. */
struct rl_standing {
	bool is_found;
	struct rl_ban first; /* the one that decides */
	uint64_t until_ns;   /* when no ban applies any more */
	bool is_exempt_then; /* and whether an exemption decides then */
	bool has_automatic;
	struct rl_ban automatic; /* one that is behind all of them */
};

/*
 * The same of a key under a rule: those that are met before the budget ends. `lengths` are those of
 * the patterns that there are; `address` as of a pattern's iteration. An automatic ban is told
 * apart, and is none of `is_found`.
 */
void rl_ban_of_key(const struct rl_segment *s, int rule, const struct rl_lengths *lengths,
                   const void *key, size_t key_len, const struct rl_address *address,
                   uint64_t now_ns, struct rl_budget *budget, struct rl_standing *standing);

/*
 * One pattern of those: the bans and exemptions of this hash, the rule's and then any rule's.
 * *standing begins with until_ns at now. False: none that comes after it decides any more.
 */
bool rl_ban_of_pattern(const struct rl_segment *s, int rule, struct rl_hash pattern,
                       struct rl_budget *budget, struct rl_standing *standing);

/*
 * The automatic ban, too, which holds where nobody has said otherwise: behind every ban, exemption
 * and override. Call it unless an override exempts the key.
 */
void rl_standing_add_automatic(struct rl_standing *standing);

/*
 * What an override for a time says of a rule's limit for the key of that hash, at now_ns: its
 * capacity; 0: there is none.
 */
uint32_t rl_ban_override_of(const struct rl_segment *s, int rule, unsigned limit,
                            struct rl_hash key, uint64_t now_ns, struct rl_budget *budget);

/*
 * Set an automatic ban by a decision at now_ns, unless the key is exempt then, or an entry of that
 * very pattern stands. Returns whether it was set.
 */
bool rl_ban_set_automatic(const struct rl_segment *s, const struct rl_ban_info *ban,
                          uint64_t now_ns);

typedef int rl_ban_visit_fn(const struct rl_ban_info *ban, void *arg);

/* Visit the one in that slot, if it stands at now_ns. What visit returned, else 0. */
int rl_ban_show(const struct rl_segment *s, uint32_t slot, uint64_t now_ns, rl_ban_visit_fn *visit,
                void *arg);

/*
 * Set what the filter lacks of the bits of what stands at now_ns, or did shortly before. Any
 * process, at any time. False: others changed the words all the time.
 */
bool rl_ban_mend(const struct rl_segment *s, uint64_t now_ns);

/* Has the filter many bits, maybe of what was lifted? */
bool rl_ban_is_crowded(const struct rl_segment *s);

/* A filter of those alone that stand at now_ns, or did shortly before. One at a time. */
void rl_ban_rebuild(const struct rl_segment *s, uint64_t now_ns);

/* Lift all bans of the rule in that row, before the row is given to another. */
void rl_ban_forget(const struct rl_segment *s, int row);

#endif
