/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHARE_PLACE_H
#define RL_SHARE_PLACE_H

#include "rl_cluster.h"
#include "rule/handle.h"
#include "segment/view.h"

#define RL_SHARE_TRIES 64

/* A slot as it was loaded, with all that a share rests on. */
struct rl_share_place {
	const struct rl_segment *s;
	const struct rl_compiled *limit;
	struct rl_slot slot;
	struct rl_view view;
	struct rl_quota quota;
	unsigned index;
	uint64_t now_ns;
	bool is_followed;  /* it was found in another table than it was seen in */
	uint64_t key_hash; /* as the caller knows it; 0: he does not */
};

/* What its limit is asked of it. */
static inline struct rl_ask
rl_share_place_ask(const struct rl_share_place *p)
{
	return (struct rl_ask){
		.l = &p->limit->limiter, .q = &p->quota, .v = &p->view, .now_ns = p->now_ns};
}

/* Find an incarnation wherever it is now. 0, or as rl_share_read() says. */
int rl_share_place_open(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
                        struct rl_share_place *p);

/* That slot of the table of `rl`. False: its key is of no limit of a cluster. */
bool rl_share_place_at(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_share_place *p);

/*
 * Load it, and say what is there. 0; -ESTALE: it is no more; -EAGAIN: look where it is; -EBUSY: to
 * be tried again.
 */
int rl_share_place_load(struct rl_share_place *p, struct rl_share *share);

/* The same, as often as it takes, within bounds. */
int rl_share_place_read(struct rl_share_place *p, struct rl_share *share);

#endif
