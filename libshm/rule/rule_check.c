/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what is wrong with a rule, in a sentence. rl_shape_check() decides whether anything is, as
 * for rl_define(). This file only finds the field that is at fault. Likewise of an item, which has
 * a capacity, a burst and undelayed of its own: decide/request.c decides.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/log.h"
#include "algorithm/ops.h"
#include "algorithm/share.h"
#include "rule/rules.h"
#include "shared/reserved.h"

#define FIELD_SIZE 32

/* The sentence that is to be written. */
struct sentence {
	char *to;
	size_t size;
	char field[FIELD_SIZE]; /* "limit", "more[2]" */
};

static void __attribute__((format(printf, 3, 4)))
say(const struct sentence *s, const char *member, const char *format, ...)
{
	va_list arguments;
	int len;

	if (s->size == 0)
		return;
	len = snprintf(s->to, s->size, "%s%s%s: ", s->field, s->field[0] && member[0] ? "." : "",
	               member);
	if (len < 0 || (size_t)len >= s->size)
		return;
	va_start(arguments, format);
	vsnprintf(s->to + len, s->size - (size_t)len, format, arguments);
	va_end(arguments);
}

/* For an algorithm that there is. */
static bool
has(const struct rl_limit *l, enum rl_algorithm_flag flag)
{
	return (rl_algorithm_info(l->algorithm)->flags & flag) != 0;
}

static bool
has_bad_window(const struct sentence *s, const struct rl_limit *l)
{
	if (!rl_algorithm_info(l->algorithm))
		say(s, "algorithm", "%u is none that a rule can have; enum rl_algorithm lists them",
		    (unsigned)l->algorithm);
	else if (has(l, RL_IS_HELD) && l->window_ns != 0)
		say(s, "window_ns", "%" PRIu64 "; what is in flight has no window, 0 is allowed",
		    l->window_ns);
	else if (l->window_ns == RL_NEVER_NS && l->algorithm != RL_ANCHORED_WINDOW)
		say(s, "window_ns", "only an anchored window can be without an end");
	else if (!has(l, RL_IS_HELD) &&
	         (l->window_ns < RL_WINDOW_MIN ||
	          (l->window_ns > RL_WINDOW_MAX && l->window_ns != RL_NEVER_NS)))
		say(s, "window_ns",
		    "%" PRIu64 "; %" PRIu64 " (10 ms) to %" PRIu64 " (400 days) are allowed",
		    l->window_ns, RL_WINDOW_MIN, RL_WINDOW_MAX);
	else if (has(l, RL_HAS_GRANULARITY) && l->granularity > RL_GRANULARITY_MAX)
		say(s, "granularity", "%" PRIu32 "; at most %d sub-buckets are allowed",
		    l->granularity, RL_GRANULARITY_MAX);
	else if (!has(l, RL_HAS_GRANULARITY) && l->granularity > 1)
		say(s, "granularity",
		    "%" PRIu32 "; only a sliding window has sub-buckets, 0 or 1 is allowed",
		    l->granularity);
	else if (!has(l, RL_HAS_GRANULARITY) && l->hard)
		say(s, "hard", "only a sliding window can be, 0 is allowed");
	else
		return false;
	return true;
}

static bool
has_bad_burst(const struct sentence *s, const struct rl_limit *l)
{
	uint32_t most = rl_gcra_burst(l->window_ns, l->capacity, RL_CAPACITY_MAX) - 1;

	if (!has(l, RL_HAS_BURST) && l->burst > 0)
		say(s, "burst", "%" PRIu32 "; only a bucket has one, 0 is allowed", l->burst);
	else if (has(l, RL_HAS_BURST) && l->burst > most)
		say(s, "burst",
		    "%" PRIu32 "; at most %" PRIu32 " is allowed, what comes in a hundred years",
		    l->burst, most);
	else if (!has(l, RL_HAS_UNDELAYED) && l->undelayed > 0)
		say(s, "undelayed", "%" PRIu32 "; only a leaky bucket has it, 0 is allowed",
		    l->undelayed);
	else if (has(l, RL_HAS_UNDELAYED) && l->undelayed > l->burst)
		say(s, "undelayed", "%" PRIu32 "; at most the burst is allowed, %" PRIu32,
		    l->undelayed, l->burst);
	else
		return false;
	return true;
}

static bool
has_bad_capacity(const struct sentence *s, const struct rl_limit *l)
{
	uint32_t most = has(l, RL_IS_HELD) ? RL_IN_FLIGHT_MAX : RL_CAPACITY_MAX;

	if (l->capacity > 0 && l->capacity <= most)
		return false;
	say(s, "capacity", "%" PRIu32 "; 1 to %" PRIu32 " is allowed", l->capacity, most);
	return true;
}

static bool
has_bad_count_denied(const struct sentence *s, const struct rl_limit *l)
{
	if (!l->count_denied || has(l, RL_HAS_COUNT_DENIED))
		return false;
	say(s, "count_denied",
	    "only a fixed or an anchored window counts what it denies, 0 is allowed");
	return true;
}

static bool
has_bad_prefix(const struct sentence *s, const struct rl_limit *l)
{
	if (l->prefix_v4 > 32)
		say(s, "prefix_v4", "%u; 0 to 32 bits are allowed", l->prefix_v4);
	else if (l->prefix_v6 > 128)
		say(s, "prefix_v6", "%u; 0 to 128 bits are allowed", l->prefix_v6);
	else
		return false;
	return true;
}

/* Of a later version of this library, or never set. */
static void
say_reserved(const struct sentence *s)
{
	say(s, "reserved", "not 0: this version of the library knows nothing that stands there");
}

static bool
has_reserved(const struct sentence *s, const struct rl_limit *l)
{
	if (RL_IS_RESERVED(l->reserved))
		return false;
	say_reserved(s);
	return true;
}

static bool
has_bad_prefetch(const struct sentence *s, const struct rl_limit *l)
{
	uint32_t most =
		l->capacity / (RL_PREFETCH_PART * (l->granularity > 0 ? l->granularity : 1));

	if (most > RL_PREFETCH_MAX)
		most = RL_PREFETCH_MAX;
	if (l->prefetch > 0 && !has(l, RL_HAS_PREFETCH))
		say(s, "prefetch", "%u; only a sliding or a fixed window has it, 0 is allowed",
		    l->prefetch);
	else if (l->prefetch > 0 && l->shadow)
		say(s, "prefetch", "%u; a shadow enforces nothing, 0 is allowed", l->prefetch);
	else if (l->prefetch > 0 && l->count_denied)
		say(s, "prefetch", "%u; a limit that counts what it denies has none, 0 is allowed",
		    l->prefetch);
	else if (l->prefetch > most)
		say(s, "prefetch",
		    "%u; at most %" PRIu32
		    " is allowed, a %dth of the capacity for each sub-bucket",
		    l->prefetch, most, RL_PREFETCH_PART);
	else
		return false;
	return true;
}

static bool
has_bad_share(const struct sentence *s, const struct rl_limit *l)
{
	uint32_t sub_buckets = l->granularity > 0 ? l->granularity : 1;
	const char *name = rl_algorithm_info(l->algorithm)->name;

	if (l->blind > l->capacity)
		say(s, "blind", "%" PRIu32 "; at most the capacity is allowed, %" PRIu32, l->blind,
		    l->capacity);
	else if (l->away > RL_AWAY_CLOSED)
		say(s, "away", "%u is none that there is; they are 0 to %d", l->away,
		    RL_AWAY_CLOSED);
	else if (l->prefetch > 0)
		say(s, "prefetch", "%u; a limit of a cluster has none, 0 is allowed", l->prefetch);
	else if (l->count_denied)
		say(s, "count_denied", "a limit of a cluster does not, 0 is allowed");
	else if (!rl_ops_of(l->algorithm)->fits_share)
		say(s, "scope", "no limit of a cluster is %s, 0 (of the host) is allowed", name);
	else if (sub_buckets > RL_SHARE_GRANULARITY_MAX)
		say(s, "granularity",
		    "%" PRIu32 "; a limit of a cluster has at most %u sub-buckets", l->granularity,
		    RL_SHARE_GRANULARITY_MAX);
	else if (has(l, RL_IS_WINDOW) && l->window_ns / sub_buckets < RL_SHARE_WIDTH_MIN)
		say(s, "window_ns",
		    "%" PRIu64 "; a sub-bucket of a limit of a cluster takes %" PRIu64
		    " (125 ms) at least",
		    l->window_ns, RL_SHARE_WIDTH_MIN);
	else if (has(l, RL_IS_BUCKET) && rl_shape_fill_ns(l) > RL_SHARE_FILL_MAX)
		say(s, "burst",
		    "%" PRIu32 "; a bucket of a cluster fills in %" PRIu64 " ns (13 days) at most",
		    l->burst, RL_SHARE_FILL_MAX);
	else
		return false;
	return true;
}

static bool
has_bad_scope(const struct sentence *s, const struct rl_limit *l)
{
	if (l->scope == RL_SCOPE_CLUSTER)
		return has_bad_share(s, l);
	if (l->scope != RL_SCOPE_HOST)
		say(s, "scope", "%u is none that there is; they are 0 and %d", l->scope,
		    RL_SCOPE_CLUSTER);
	else if (l->blind > 0)
		say(s, "blind", "%" PRIu32 "; only a limit of a cluster has it, 0 is allowed",
		    l->blind);
	else if (l->away > 0)
		say(s, "away", "%u; only a limit of a cluster has it, 0 is allowed", l->away);
	else
		return false;
	return true;
}

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
say_ring(const struct sentence *s, const struct rl_limit *l, uint32_t ring, uint32_t wanted)
{
	struct remedy remedy = remedy_of(wanted);

	if (rl_algorithm_info(l->algorithm)->ring_per_unit > 0)
		say(s, "capacity",
		    "%" PRIu32 "; a log in a segment with a ring of %" PRIu32
		    " has at most half of it, and at most %d%s",
		    l->capacity, ring, RL_LOG_MAX, remedy.text);
	else if (has(l, RL_IS_HELD))
		say(s, "capacity",
		    "%" PRIu32 "; in a segment with a ring of %" PRIu32
		    " one process alone holds units of a key%s",
		    l->capacity, ring, remedy.text);
	else
		say(s, "granularity",
		    "%" PRIu32 "; a segment with a ring of %" PRIu32 " has no more sub-buckets%s",
		    l->granularity, ring, remedy.text);
}

static int
check_limit(struct sentence *s, const struct rl_rule *rule, size_t i, uint32_t ring)
{
	struct rl_limit l = rl_rules_limit(rule, i);
	int error = rl_shape_check(&l, ring);

	snprintf(s->field, sizeof s->field, i == 0 ? "limit" : "more[%zu]", i - 1);
	if (error == RL_ERING)
		say_ring(s, &l, ring, rl_rule_ring(rule));
	else if (error < 0 && !has_reserved(s, &l) && !has_bad_window(s, &l) &&
	         !has_bad_capacity(s, &l) && !has_bad_burst(s, &l) &&
	         !has_bad_count_denied(s, &l) && !has_bad_prefix(s, &l) &&
	         !has_bad_prefetch(s, &l) && !has_bad_scope(s, &l))
		say(s, "", "it cannot be");
	if (error == 0 && rl_limit_has_prefix(&l) != rl_limit_has_prefix(&rule->limit)) {
		say(s, "", "either all limits of a rule have prefixes or none");
		error = -EINVAL;
	}
	if (error == 0 && l.prefetch > 0 && rule->more_count > 0) {
		say(s, "prefetch", "%u; a rule of several limits has none, 0 is allowed",
		    l.prefetch);
		error = -EINVAL;
	}
	return error;
}

/* A segment that is not made for it has no limit of a cluster. */
static int
check_segment(struct sentence *s, const struct rl_rule *rule)
{
	for (size_t i = 0; i <= rule->more_count; i++) {
		if (rl_rules_limit(rule, i).scope != RL_SCOPE_CLUSTER)
			continue;
		s->field[0] = '\0';
		say(s, "options.flags", "without RL_OPEN_CLUSTER (%d) no limit is of a cluster",
		    RL_OPEN_CLUSTER);
		return RL_ECLUSTER;
	}
	return 0;
}

static void
say_name(const struct sentence *s, const char *name)
{
	size_t len = name ? strnlen(name, RL_NAME_MAX + 1) : 0, good = 0;

	while (good < len && rl_rules_name_has(name[good]))
		good++;
	if (len == 0)
		say(s, "name", "there is none; 1 to %d letters, digits and . _ - : / are allowed",
		    RL_NAME_MAX);
	else if (good < len)
		say(s, "name", "byte %zu is 0x%02x; letters, digits and . _ - : / are allowed",
		    good + 1, (unsigned)(unsigned char)name[good]);
	else
		say(s, "name", "it is too long; at most %d bytes are allowed", RL_NAME_MAX);
}

static bool
has_bad_list(const struct sentence *s, const struct rl_rule *rule)
{
	if (!rl_rules_name_is_valid(rule->name))
		say_name(s, rule->name);
	else if (rule->more_count >= RL_LIMITS_MAX)
		say(s, "more_count", "%zu; at most %d further limits are allowed", rule->more_count,
		    RL_LIMITS_MAX - 1);
	else if (!rule->more && rule->more_count > 0)
		say(s, "more", "NULL, and more_count is %zu", rule->more_count);
	else if (rule->flags & ~(unsigned)RL_DEFINE_KEEP)
		say(s, "flags", "0x%x; 0 or RL_DEFINE_KEEP (%d) is allowed", rule->flags,
		    RL_DEFINE_KEEP);
	else if (!RL_IS_RESERVED(rule->reserved))
		say_reserved(s);
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
	struct sentence s = {.to = text, .size = text ? size : 0};
	uint32_t ring = ring_of(options);
	int error = 0;

	if (s.size > 0)
		text[0] = '\0';
	if (has_bad_list(&s, rule))
		return -EINVAL;
	if (ring > RL_RING_MAX) {
		say(&s, "options.ring", "%" PRIu32 "; 1 to %d is allowed", ring, RL_RING_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i <= rule->more_count && error == 0; i++)
		error = check_limit(&s, rule, i, ring);
	if (error == 0 && options && !(options->flags & RL_OPEN_CLUSTER))
		error = check_segment(&s, rule);
	return error;
}

static int
check_item_capacity(const struct sentence *s, const struct rl_limit *first, uint32_t capacity,
                    uint32_t ring)
{
	struct rl_limit own = *first;

	own.capacity = capacity;
	if (capacity == 0)
		return 0;
	if (has_bad_capacity(s, &own))
		return -EINVAL;
	if (first->algorithm != RL_SLIDING_LOG || capacity <= rl_log_capacity(ring))
		return 0;
	say_ring(s, &own, ring, rl_shape_ring(&own));
	return RL_ERING;
}

static int
check_item_burst(const struct sentence *s, const struct rl_limit *first, const struct rl_item *item)
{
	const char *name = rl_algorithm_info(first->algorithm)->name;
	uint32_t burst = item->flags & RL_ITEM_BURST ? item->burst : first->burst;

	if (item->flags & RL_ITEM_BURST && !has(first, RL_HAS_BURST))
		say(s, "burst", "%" PRIu32 "; %s has none, leaky_bucket and token_bucket have one",
		    item->burst, name);
	else if (item->flags & RL_ITEM_BURST && item->burst >= RL_CAPACITY_MAX)
		say(s, "burst", "%" PRIu32 "; at most %" PRIu32 " is allowed", item->burst,
		    RL_CAPACITY_MAX - 1);
	else if (item->flags & RL_ITEM_UNDELAYED && !has(first, RL_HAS_UNDELAYED))
		say(s, "undelayed", "%" PRIu32 "; %s has none, leaky_bucket has one",
		    item->undelayed, name);
	else if (item->flags & RL_ITEM_UNDELAYED && item->undelayed > burst)
		say(s, "undelayed", "%" PRIu32 "; at most the burst is allowed, %" PRIu32,
		    item->undelayed, burst);
	else
		return 0;
	return -EINVAL;
}

int
rl_item_check(const struct rl_limit *first, const struct rl_item *item,
              const struct rl_options *options, char *text, size_t size)
{
	struct sentence s = {.to = text, .size = text ? size : 0};
	uint32_t ring = ring_of(options);
	int error;

	if (s.size > 0)
		text[0] = '\0';
	if (!rl_algorithm_info(first->algorithm) && has_bad_window(&s, first))
		return -EINVAL;
	if (item->flags & ~(unsigned)(RL_ITEM_BURST | RL_ITEM_UNDELAYED)) {
		say(&s, "flags", "0x%x is none that this version of the library knows",
		    item->flags);
		return -EINVAL;
	}
	if (item->leave != 0) {
		say(&s, "leave", "%" PRIu32 "; 0 is allowed", item->leave);
		return -EINVAL;
	}
	error = check_item_capacity(&s, first, item->capacity, ring);
	return error < 0 ? error : check_item_burst(&s, first, item);
}
