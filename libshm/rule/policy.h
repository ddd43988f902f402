/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_POLICY_H
#define RL_POLICY_H

/*
 * What a rule says: its limits, how much they admit, and which patterns of keys there may be
 * bans, exemptions and overrides for. It is the same for all keys, so a process reads it once
 * for each version of the segment (see change.h) and keeps it. What it says of one key is
 * looked up with the key.
 */

#include "algorithm/ops.h"
#include "rule/filter.h"
#include "rule/handle.h"
#include "rule/override.h"
#include "segment/change.h"
#include "segment/record.h"

/* A limit, and how much it admits. */
struct rl_policy_limit {
	const struct rl_compiled *limit;
	struct rl_quota quota;
	unsigned index; /* of the limit in its rule */
};

/*
 * What a request under a rule takes, in one word, above the rule's handle + 1: 0 if the rule has
 * one window for whole keys, that is enforced and no more, and nothing for single keys. 0
 * altogether of a rule without limits.
 */
#define RL_POLICY_ASKS \
	(UINT64_C(1) << 63) /* for single keys there is something, which the filters know */
#define RL_POLICY_PREFIXES (UINT64_C(1) << 62) /* keys are addresses, counted by their networks */
#define RL_POLICY_HELD (UINT64_C(1) << 61)     /* units are in flight, and have holders */
#define RL_POLICY_OTHER \
	(UINT64_C(1)    \
	 << 60) /* some limit is no bucket of this host, and none that rl_adds() knows, or does more
	           than to limit */
#define RL_POLICY_SHARED (UINT64_C(1) << 59)   /* some limit is of a cluster */
#define RL_POLICY_BUCKET (UINT64_C(1) << 58)   /* some limit is a bucket of this host */
#define RL_POLICY_REQUESTS (UINT64_C(1) << 57) /* some limit counts requests */
#define RL_POLICY_MORE_SHIFT 32                /* how many limits beyond the first */
#define RL_POLICY_MORE_MASK UINT64_C(0xf)
#define RL_POLICY_MORE (RL_POLICY_MORE_MASK << RL_POLICY_MORE_SHIFT)

static inline uint64_t
rl_policy_plain_steps(int rule)
{
	return (uint64_t)(unsigned)rule + 1;
}

struct rl_policy {
	int rule;
	unsigned count;  /* 0: it has no limits */
	bool is_removed; /* nobody has defined or configured it, any more */
	uint64_t kinds;  /* of the words above: what some limit of it is */
	bool has_new;    /* a limit may start anew yet: only where nothing is counted by it */
	bool has_overrides;
	bool has_bans;
	bool has_timed;    /* and overrides for a time, or had */
	enum rl_bank bank; /* where it stands */
	uint64_t generation;
	struct rl_lengths overrides; /* of patterns that there are, with has_overrides; */
	struct rl_lengths bans;      /* and this rule's or any rule's, with has_bans */
	uint64_t is_cached;          /* it is of `version`, and the filters may be asked: */
	uint64_t version;
	struct rl_filter_ask ask;
	struct rl_policy_limit limit[RL_LIMITS_MAX];
};

/* One that a process keeps. `sequence` is odd while some thread writes the rest. */
struct rl_policy_cached {
	uint64_t sequence;
	uint64_t writer; /* the process that writes: a child may be forked while its parent does */
	uint64_t version;
	uint64_t steps;  /* RL_POLICY_ASKS and its like */
	uint64_t due_ns; /* from then on the rule's history has to be looked at: history.h */
	struct rl_policy policy;
};

/*
 * Is what there is for single keys for others than this one, of that hash? The filters say so, of
 * what is kept of the rule, if it is of that version, in force before and after.
 */
bool rl_policy_has_none_for(const struct rl *rl, int rule, uint64_t version, const void *key,
                            size_t key_len, uint64_t hash);

/*
 * A look at what is kept of a rule. Part of every decision.
 *
 * Words of this process's own memory, which another thread may be writing: what was read of the
 * policy counts only if rl_policy_look_holds() says so afterwards. That a version is still in force
 * is seen by one load from the segment.
 */
struct rl_policy_look {
	const struct rl_policy_cached *cached;
	uint64_t version;
	uint64_t sequence;
	uint64_t steps;
};

/*
 * False: ask rl_policy_load(); also at the first request of a minute, which has to look at the
 * rule's history.
 */
static inline __attribute__((always_inline)) bool
rl_policy_look(const struct rl *rl, int rule, uint64_t now_ns, struct rl_policy_look *look)
{
	const struct rl_policy_cached *cached;

	if ((uint32_t)rl_rule_row(rule) >= rl->segment.geometry.rules)
		return false;
	cached = &rl->policies[rl_rule_row(rule)];
	look->cached = cached;
	look->version = rl_change_version(&rl->segment);
	look->sequence = rl_atomic_own_load(&cached->sequence);
	look->steps = rl_atomic_own_load(&cached->steps);
	return rl_atomic_own_load(&cached->version) == look->version && !(look->sequence & 1) &&
	       now_ns < rl_atomic_own_load(&cached->due_ns);
}

/* The same look, by what it has seen. */
static inline __attribute__((always_inline)) struct rl_policy_look
rl_policy_looked(const struct rl_policy_cached *cached, uint64_t sequence)
{
	return (struct rl_policy_look){
		.cached = cached,
		.version = rl_atomic_own_load(&cached->version),
		.sequence = sequence,
		.steps = rl_atomic_own_load(&cached->steps),
	};
}

static inline __attribute__((always_inline)) bool
rl_policy_look_holds(const struct rl_policy_look *look)
{
	rl_atomic_own_fence();
	return rl_atomic_own_load(&look->cached->sequence) == look->sequence;
}

/*
 * Of a rule that there is, or was. 0, or -EINVAL: there never was, -ENOMEM, RL_ECOST. It is of one
 * version if nobody changes anything meanwhile, and else of one generation of the configuration.
 */
int rl_policy_load(struct rl *rl, int rule, struct rl_budget *budget, struct rl_policy *policy);

/* Is a policy of that generation in force still, whose words were read before? */
bool rl_policy_is_of(const struct rl_segment *s, uint64_t generation);

/* What a rule says of one key. */
struct rl_key_policy {
	bool has_override;
	enum rl_override_kind kind; /* with an override */
	bool keeps_first;           /* an override speaks of the first limit: no tier does */
	bool has_address;
	bool has_ban; /* one answers, or an exemption: where its note is */
	uint32_t ban_slot;
	struct rl_address address; /* the key's */
	struct rl_policy rule;     /* with those limits alone that count the key */
};

/* As rl_policy_load(), or RL_EADDRESS. A key of no length gets the rule's limits. */
int rl_policy_of_key(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                     struct rl_budget *budget, struct rl_key_policy *policy);

/*
 * The same; under a rule with prefixes, the key may be a network, and then the limits are those of
 * that prefix, and what is configured is what holds for all of the network. -EINVAL, too, for no
 * key.
 */
int rl_policy_of_name(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                      struct rl_budget *budget, struct rl_key_policy *policy);

/* The same of a key that was cached, and what it says of a limit; false if that is not known. */
bool rl_policy_of_record(struct rl *rl, const struct rl_record_copy *copy,
                         const struct rl_compiled *limit, uint64_t now_ns, struct rl_budget *budget,
                         struct rl_key_policy *policy, struct rl_quota *quota);

/* Has the rule any overrides, in force, about to be, or for a time? */
bool rl_policy_has_overrides(const struct rl_segment *s, int rule);

/* May a ban or an exemption hold for a key of the rule, or any that has its row now? */
bool rl_policy_has_bans(const struct rl_segment *s, int rule);

/* A capacity in place of the limit's own; a token bucket's burst goes with it. 0 or RL_ERING. */
int rl_policy_set_capacity(const struct rl_limiter *limiter, uint32_t capacity,
                           struct rl_quota *quota);

/*
 * The same with the last tier of the key at a slot, if the limit is its rule's first. Returns the
 * tier; 0: *quota stays as it is.
 */
uint32_t rl_policy_apply_tier(const struct rl_segment *s, uint64_t slot,
                              const struct rl_compiled *limit, unsigned index,
                              struct rl_quota *quota);

/* What a share of a limit of a cluster is worth without a lease, `away` being enum rl_away. */
uint32_t rl_policy_worth_away(const struct rl_segment *s, uint32_t limit, unsigned away);

/*
 * Of a limit of a cluster, what holds of its shares at now_ns: before its word is loaded. Of
 * another one, nothing. A share counts as long as the lease of all holds: else true, and what it is
 * worth is the limit's `away`.
 */
static inline bool
rl_policy_is_away(const struct rl_segment *s, const struct rl_limiter *limiter, uint64_t now_ns,
                  struct rl_quota *quota)
{
	if (!limiter->is_shared)
		return false;
	quota->counts_denied = true;
	quota->has_lease = now_ns < rl_atomic_load(&s->header->shares_until);
	quota->share.away = 0;
	return !quota->has_lease;
}

/*
 * The blind part that follows the number of hosts: rl_cluster_blind(). What was read before it fell
 * is charged by one request at most.
 */
static inline uint32_t
rl_policy_blind(const struct rl_segment *s, uint32_t capacity, uint64_t now_ns)
{
	uint64_t until = rl_atomic_load(&s->header->blind_until);

	return now_ns < until ? capacity / RL_BLIND_PART >> (until & RL_BLIND_STEP_MASK) : 0;
}

static inline void
rl_policy_share(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns,
                struct rl_quota *quota)
{
	if (!limit->limiter.is_shared)
		return;
	if (quota->is_auto)
		quota->share.blind = rl_policy_blind(s, quota->capacity, now_ns);
	if (rl_policy_is_away(s, &limit->limiter, now_ns, quota))
		quota->share.away = rl_policy_worth_away(
			s, rl_limiter_limit(&limit->limiter, quota), quota->away);
}

/* What a limit admits now, and its place in its rule; false if it is in force no more. */
bool rl_policy_of_limit(const struct rl_segment *s, int limit, struct rl_quota *quota,
                        unsigned *index);

#endif
