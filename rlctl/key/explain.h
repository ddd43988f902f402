/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_EXPLAIN_H
#define RLCTL_EXPLAIN_H

/*
 * Why a key is answered as it is: what each limit of the rule has counted of it, and what stands
 * for or against it. Gathered first, then told in words or in JSON.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/output.h"
#include "key/active_bans.h"
#include "key/holders.h"
#include "key/override_view.h"
#include "key/share_view.h"
#include "key/timed.h"
#include "key/verdict.h"

/* A limit's entry, its key and moments copied. */
struct counted {
	bool is_there;           /* else the limit has counted nothing of the key */
	struct share_view share; /* of a limit of the cluster */
	struct rl_entry entry;
	struct rl_count count; /* of a counter by key, to which the entry points */
};

struct explanation {
	int rule;
	uint64_t now_ns;
	struct decision decision; /* of a request of cost 1 and of the last tier, now, peeked */
	struct counted counted[RL_LIMITS_MAX];
	struct active_bans active_bans;
	struct overrides overrides;
	struct active_bans timed;
	struct holders holders;
};

/*
 * The key as a user or an entry names it. 0, or an error of rl_lookup() but for -ENOENT: nothing
 * counted is an explanation, too. To be freed.
 */
int explain(struct rl *rl, int rule, const struct key_view *key, struct explanation *out);
void explanation_free(struct explanation *explanation);

/* False if nothing is counted, and nothing stands. */
bool explanation_has_anything(const struct explanation *explanation);

/* Is the key counted under a limit, but together with others, for it has no slot? NULL: no. */
const struct rl_result *explanation_in_overflow(const struct explanation *explanation,
                                                unsigned limit);

/* In words. is_whole: with each sub-bucket, also where nothing is in it. */
void explanation_print(FILE *out, struct rl *rl, const struct explanation *explanation,
                       bool is_whole);
json_t *explanation_json(struct rl *rl, const struct explanation *explanation);

#endif
