/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what is wrong with a rule, in a sentence: of each limit limit_check.c does, as it decides
 * for rl_define(). Likewise of an item, which has a capacity, a burst and undelayed of its own:
 * decide/request.c decides.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/log.h"
#include "rule/limit_check.h"
#include "rule/rules.h"
#include "rule/shape.h"
#include "shared/reserved.h"

/* What to do about a ring that is too short; nothing if none is long enough. */
struct remedy {
	char text[64];
};

static struct remedy
remedy_of(uint32_t wanted)
{
	struct remedy r = {""};

	if (wanted <= RL_RING_MAX)
		snprintf(r.text, sizeof r.text,
		         "; ask for %" PRIu32 ", or 'rlctl resize --ring %" PRIu32 "'", wanted,
		         wanted);
	return r;
}

static void
say_ring(const struct rl_sentence *s, const struct rl_limit *l, uint32_t ring, uint32_t wanted)
{
	struct remedy remedy = remedy_of(wanted);

	if (rl_algorithm_info(l->algorithm)->ring_per_unit > 0)
		rl_say(s, "capacity",
		       "%" PRIu32 "; a log in a segment with a ring of %" PRIu32
		       " has at most half of it, and at most %d%s",
		       l->capacity, ring, RL_LOG_MAX, remedy.text);
	else if (rl_limit_has(l, RL_IS_HELD))
		rl_say(s, "capacity",
		       "%" PRIu32 "; in a segment with a ring of %" PRIu32
		       " one process alone holds units of a key%s",
		       l->capacity, ring, remedy.text);
	else
		rl_say(s, "granularity",
		       "%" PRIu32 "; a segment with a ring of %" PRIu32
		       " has no more sub-buckets%s",
		       l->granularity, ring, remedy.text);
}

static int
check_limit(struct rl_sentence *s, const struct rl_rule *rule, size_t i, uint32_t ring)
{
	struct rl_limit l = rl_rules_limit(rule, i);
	int error;

	snprintf(s->field, sizeof s->field, i == 0 ? "limit" : "more[%zu]", i - 1);
	error = rl_limit_check(&l, ring, s);
	if (error == RL_ERING)
		say_ring(s, &l, ring, rl_rule_ring(rule));
	if (error == 0 && rl_limit_has_prefix(&l) != rl_limit_has_prefix(&rule->limit)) {
		rl_say(s, "", "either all limits of a rule have prefixes or none");
		error = -EINVAL;
	}
	if (error == 0 && l.prefetch > 0 && rule->more_count > 0) {
		rl_say(s, "prefetch", "%u; a rule of several limits has none, 0 is allowed",
		       l.prefetch);
		error = -EINVAL;
	}
	return error;
}

/* A segment that is not made for it has no limit of a cluster. */
static int
check_segment(struct rl_sentence *s, const struct rl_rule *rule)
{
	for (size_t i = 0; i <= rule->more_count; i++) {
		if (rl_rules_limit(rule, i).scope != RL_SCOPE_CLUSTER)
			continue;
		s->field[0] = '\0';
		rl_say(s, "options.flags", "without RL_OPEN_CLUSTER (%d) no limit is of a cluster",
		       RL_OPEN_CLUSTER);
		return RL_ECLUSTER;
	}
	return 0;
}

static void
say_name(const struct rl_sentence *s, const char *name)
{
	size_t len = name ? strnlen(name, RL_NAME_MAX + 1) : 0, good = 0;

	while (good < len && rl_rules_name_has(name[good]))
		good++;
	if (len == 0)
		rl_say(s, "name",
		       "there is none; 1 to %d letters, digits and . _ - : / are allowed",
		       RL_NAME_MAX);
	else if (good < len)
		rl_say(s, "name", "byte %zu is 0x%02x; letters, digits and . _ - : / are allowed",
		       good + 1, (unsigned)(unsigned char)name[good]);
	else
		rl_say(s, "name", "it is too long; at most %d bytes are allowed", RL_NAME_MAX);
}

static bool
has_bad_list(const struct rl_sentence *s, const struct rl_rule *rule)
{
	if (!rl_rules_name_is_valid(rule->name))
		say_name(s, rule->name);
	else if (rule->more_count >= RL_LIMITS_MAX)
		rl_say(s, "more_count", "%zu; at most %d further limits are allowed",
		       rule->more_count, RL_LIMITS_MAX - 1);
	else if (!rule->more && rule->more_count > 0)
		rl_say(s, "more", "NULL, and more_count is %zu", rule->more_count);
	else if (rule->flags & ~(unsigned)RL_DEFINE_KEEP)
		rl_say(s, "flags", "0x%x; 0 or RL_DEFINE_KEEP (%d) is allowed", rule->flags,
		       RL_DEFINE_KEEP);
	else if (!RL_IS_RESERVED(rule->reserved))
		rl_say(s, "reserved", RL_RESERVED_TEXT);
	else
		return false;
	return true;
}

static uint32_t
ring_of(const struct rl_options *options)
{
	return options && options->ring > 0 ? options->ring : RL_RING_DEFAULT;
}

int
rl_rule_check(const struct rl_rule *rule, const struct rl_options *options, char *text, size_t size)
{
	struct rl_sentence s = {.to = text, .size = text ? size : 0};
	uint32_t ring = ring_of(options);
	int error = 0;

	if (s.size > 0)
		text[0] = '\0';
	if (has_bad_list(&s, rule))
		return -EINVAL;
	if (ring > RL_RING_MAX) {
		rl_say(&s, "options.ring", "%" PRIu32 "; 1 to %d is allowed", ring, RL_RING_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i <= rule->more_count && error == 0; i++)
		error = check_limit(&s, rule, i, ring);
	if (error == 0 && options && !(options->flags & RL_OPEN_CLUSTER))
		error = check_segment(&s, rule);
	return error;
}

static int
check_item_capacity(const struct rl_sentence *s, const struct rl_limit *first, uint32_t capacity,
                    uint32_t ring)
{
	struct rl_limit own = *first;

	own.capacity = capacity;
	if (capacity == 0)
		return 0;
	if (!rl_limit_check_capacity(&own, s))
		return -EINVAL;
	if (first->algorithm != RL_SLIDING_LOG || capacity <= rl_log_capacity(ring))
		return 0;
	say_ring(s, &own, ring, rl_shape_ring(&own));
	return RL_ERING;
}

static int
check_item_burst(const struct rl_sentence *s, const struct rl_limit *first,
                 const struct rl_item *item)
{
	const char *name = rl_algorithm_info(first->algorithm)->name;
	uint32_t burst = item->flags & RL_ITEM_BURST ? item->burst : first->burst;

	if (item->flags & RL_ITEM_BURST && !rl_limit_has(first, RL_HAS_BURST))
		rl_say(s, "burst",
		       "%" PRIu32 "; %s has none, leaky_bucket and token_bucket have one",
		       item->burst, name);
	else if (item->flags & RL_ITEM_BURST && item->burst >= RL_CAPACITY_MAX)
		rl_say(s, "burst", "%" PRIu32 "; at most %" PRIu32 " is allowed", item->burst,
		       RL_CAPACITY_MAX - 1);
	else if (item->flags & RL_ITEM_UNDELAYED && !rl_limit_has(first, RL_HAS_UNDELAYED))
		rl_say(s, "undelayed", "%" PRIu32 "; %s has none, leaky_bucket has one",
		       item->undelayed, name);
	else if (item->flags & RL_ITEM_UNDELAYED && item->undelayed > burst)
		rl_say(s, "undelayed", "%" PRIu32 "; at most the burst is allowed, %" PRIu32,
		       item->undelayed, burst);
	else
		return 0;
	return -EINVAL;
}

int
rl_item_check(const struct rl_limit *first, const struct rl_item *item,
              const struct rl_options *options, char *text, size_t size)
{
	struct rl_sentence s = {.to = text, .size = text ? size : 0};
	uint32_t leave_most = item->flags & RL_ITEM_LEAVE ? RL_LEAVE_MAX : 0;
	uint32_t ring = ring_of(options);
	int error;

	if (s.size > 0)
		text[0] = '\0';
	if (!rl_limit_check_algorithm(first, &s))
		return -EINVAL;
	if (item->flags >= 2 * (unsigned)RL_ITEM_LEAVE) {
		rl_say(&s, "flags", "0x%x is none that this version of the library knows",
		       item->flags);
		return -EINVAL;
	}
	if (item->flags & RL_ITEM_SPEND && first->algorithm == RL_IN_FLIGHT) {
		rl_say(&s, "flags", "0x%x; what is in flight is taken, and never spent",
		       item->flags);
		return -EINVAL;
	}
	if (item->leave > leave_most) {
		rl_say(&s, "leave", "%" PRIu32 "; %s is allowed", item->leave,
		       leave_most > 0 ? "0 to 999" : "0");
		return -EINVAL;
	}
	error = check_item_capacity(&s, first, item->capacity, ring);
	return error < 0 ? error : check_item_burst(&s, first, item);
}
