/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each field by itself is judged by the list of fields: within its bounds, and 0 where the
 * algorithm has no use for it. What fields have to do with one another is here.
 */
#include "rule/limit_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/ops.h"
#include "algorithm/share.h"
#include "rl_cluster.h"
#include "rl_fields.h"
#include "rule/shape.h"
#include "shared/reserved.h"

void
rl_say(const struct rl_sentence *s, const char *member, const char *format, ...)
{
	va_list arguments;
	int len;

	if (!s || s->size == 0)
		return;
	len = snprintf(s->to, s->size, "%s%s%s: ", s->field, s->field[0] && member[0] ? "." : "",
	               member);
	if (len < 0 || (size_t)len >= s->size)
		return;
	va_start(arguments, format);
	vsnprintf(s->to + len, s->size - (size_t)len, format, arguments);
	va_end(arguments);
}

bool
rl_limit_has(const struct rl_limit *l, unsigned flags)
{
	return (rl_algorithm_info(l->algorithm)->flags & flags) != 0;
}

/* "token_bucket and leaky_bucket have it" */
struct names {
	char text[128];
};

/* The algorithms that have one of these flags. */
static struct names
holders_of(unsigned flags)
{
	const struct rl_algorithm_info *info, *last = NULL;
	struct names out = {""};
	size_t used = 0;
	int count = 0;

	for (int a = 0; a <= (int)RL_ALGORITHM_LAST; a++) {
		info = rl_algorithm_info((enum rl_algorithm)a);
		if (!info || !(info->flags & flags))
			continue;
		if (last && used < sizeof out.text)
			used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s",
			                         count > 1 ? ", " : "", last->name);
		last = info;
		count++;
	}
	if (last && used < sizeof out.text)
		snprintf(out.text + used, sizeof out.text - used, "%s%s %s it",
		         count > 1 ? " and " : "", last->name, count > 1 ? "have" : "has");
	return out;
}

bool
rl_limit_check_algorithm(const struct rl_limit *l, const struct rl_sentence *s)
{
	if (rl_algorithm_info(l->algorithm))
		return true;
	rl_say(s, "algorithm", "%u is none that a rule can have; enum rl_algorithm lists them",
	       (unsigned)l->algorithm);
	return false;
}

/* The bounds of a capacity are its algorithm's, but those of the ring. */
bool
rl_limit_check_capacity(const struct rl_limit *l, const struct rl_sentence *s)
{
	uint32_t most = rl_limit_has(l, RL_IS_HELD) ? RL_IN_FLIGHT_MAX : RL_CAPACITY_MAX;

	if (l->capacity > 0 && l->capacity <= most)
		return true;
	rl_say(s, "capacity", "%" PRIu32 "; 1 to %" PRIu32 " is allowed", l->capacity, most);
	return false;
}

/* What a field is that nothing is said of. */
static uint64_t
idle_of(const struct rl_field *field)
{
	return field->offset == offsetof(struct rl_limit, granularity);
}

/* A field that the limit has no use for. */
static bool
check_useless(const struct rl_field *field, const struct rl_limit *l, const struct rl_sentence *s)
{
	uint64_t value = rl_field_get(field, l);
	bool is_flag = field->kind == RL_FIELD_FLAG;
	char number[24] = "";

	if (value <= idle_of(field))
		return true;
	if (!is_flag)
		snprintf(number, sizeof number, "%" PRIu64 "; ", value);
	if (field->marks & RL_FIELD_CLUSTER)
		rl_say(s, field->name, "%sonly a limit of a cluster has it, 0 is allowed", number);
	else if (field->needs == 0 || rl_limit_has(l, field->needs))
		rl_say(s, field->name, "%sa limit of a cluster has none, 0 is allowed", number);
	else if (field->needs & RL_HAS_WINDOW)
		rl_say(s, field->name, "%s%s has none, 0 is allowed", number,
		       rl_algorithm_info(l->algorithm)->name);
	else
		rl_say(s, field->name, "%sonly %s, 0 is allowed", number,
		       holders_of(field->needs).text);
	return false;
}

static bool
check_bounds(const struct rl_field *field, const struct rl_limit *l, const struct rl_sentence *s)
{
	uint64_t value = rl_field_get(field, l);

	if (value == 0 ? field->zero != NULL : value >= field->least && value <= field->most)
		return true;
	if ((field->offset == offsetof(struct rl_limit, blind) && value == RL_BLIND_AUTO) ||
	    (field->offset == offsetof(struct rl_limit, wait_ns) && value == RL_WAIT_NONE))
		return true;
	if (field->kind == RL_FIELD_WORD)
		rl_say(s, field->name, "%" PRIu64 " is none that there is; they are 0 to %" PRIu64,
		       value, field->most);
	else if (field->kind == RL_FIELD_DURATION)
		rl_say(s, field->name,
		       "%" PRIu64 " ns; %" PRIu64 " ms to %" PRIu64 " days is allowed", value,
		       field->least / RL_MILLISECOND, field->most / (86400 * RL_SECOND));
	else
		rl_say(s, field->name, "%" PRIu64 "; %" PRIu64 " to %" PRIu64 " is allowed", value,
		       field->zero ? 0 : field->least, field->most);
	return false;
}

static bool
check_field(const struct rl_field *field, const struct rl_limit *l, const struct rl_sentence *s)
{
	if (field->offset == offsetof(struct rl_limit, capacity))
		return rl_limit_check_capacity(l, s);
	if ((field->needs && !rl_limit_has(l, field->needs)) ||
	    (field->marks & RL_FIELD_CLUSTER && l->scope != RL_SCOPE_CLUSTER) ||
	    (field->marks & RL_FIELD_HOST && l->scope == RL_SCOPE_CLUSTER))
		return check_useless(field, l, s);
	if (field->offset != offsetof(struct rl_limit, window_ns) || l->window_ns != RL_NEVER_NS)
		return field->kind == RL_FIELD_FLAG || check_bounds(field, l, s);
	if (l->algorithm == RL_ANCHORED_WINDOW)
		return true;
	rl_say(s, "window_ns", "only an anchored window can be without an end");
	return false;
}

static bool
check_burst(const struct rl_limit *l, const struct rl_sentence *s)
{
	uint32_t most;

	if (rl_limit_has(l, RL_HAS_UNDELAYED) && l->undelayed > l->burst) {
		rl_say(s, "undelayed", "%" PRIu32 "; at most the burst is allowed, %" PRIu32,
		       l->undelayed, l->burst);
		return false;
	}
	if (!rl_limit_has(l, RL_HAS_BURST))
		return true;
	most = rl_gcra_burst(l->window_ns, l->capacity, RL_CAPACITY_MAX) - 1;
	if (l->burst <= most)
		return true;
	rl_say(s, "burst",
	       "%" PRIu32 "; at most %" PRIu32 " is allowed, what comes in a hundred years",
	       l->burst, most);
	return false;
}

/* A small part of the capacity is what each process may leave idle in a window. */
static bool
check_prefetch(const struct rl_limit *l, const struct rl_sentence *s)
{
	uint32_t most =
		l->capacity / (RL_PREFETCH_PART * (l->granularity > 0 ? l->granularity : 1));

	if (l->prefetch == 0)
		return true;
	if (l->shadow)
		rl_say(s, "prefetch", "%u; a shadow enforces nothing, 0 is allowed", l->prefetch);
	else if (l->count_denied)
		rl_say(s, "prefetch",
		       "%u; a limit that counts what it denies has none, 0 is allowed",
		       l->prefetch);
	else if (l->prefetch > most)
		rl_say(s, "prefetch",
		       "%u; at most %" PRIu32
		       " is allowed, a %dth of the capacity for each sub-bucket",
		       l->prefetch, most, RL_PREFETCH_PART);
	else
		return true;
	return false;
}

/* For as long a host that has just come admits nothing blind: it may not take for ever. */
static bool
check_auto(const struct rl_limit *l, const struct rl_sentence *s)
{
	bool fills = rl_limit_has(l, RL_IS_BUCKET) && l->burst > l->capacity;
	unsigned __int128 ns =
		(unsigned __int128)l->window_ns * (fills ? l->burst : l->capacity) / l->capacity;

	if (l->scope != RL_SCOPE_CLUSTER || l->blind != RL_BLIND_AUTO || ns <= RL_BLIND_AUTO_MAX)
		return true;
	rl_say(s, "blind",
	       "RL_BLIND_AUTO; only of a window, or of a bucket that fills, within 10 minutes: a "
	       "number is allowed");
	return false;
}

static bool
fits_beside_a_share(const struct rl_limit *l)
{
	const struct rl_algorithm_ops *ops = rl_ops_of(l->algorithm);
	struct rl_limit complete = rl_shape_complete(l);

	return ops->fits_share && ops->fits_share(&complete);
}

static bool
check_share(const struct rl_limit *l, const struct rl_sentence *s)
{
	uint32_t sub_buckets = l->granularity > 0 ? l->granularity : 1;

	if (l->scope != RL_SCOPE_CLUSTER)
		return true;
	if (l->blind > l->capacity && l->blind != RL_BLIND_AUTO)
		rl_say(s, "blind", "%" PRIu32 "; at most the capacity is allowed, %" PRIu32,
		       l->blind, l->capacity);
	else if (!rl_ops_of(l->algorithm)->fits_share)
		rl_say(s, "scope", "no limit of a cluster is %s, 0 (of the host) is allowed",
		       rl_algorithm_info(l->algorithm)->name);
	else if (fits_beside_a_share(l))
		return true;
	else if (sub_buckets > RL_SHARE_GRANULARITY_MAX)
		rl_say(s, "granularity",
		       "%" PRIu32 "; a limit of a cluster has at most %u sub-buckets",
		       l->granularity, RL_SHARE_GRANULARITY_MAX);
	else if (rl_limit_has(l, RL_IS_BUCKET))
		rl_say(s, "burst",
		       "%" PRIu32 "; a bucket of a cluster fills in %" PRIu64
		       " ns (13 days) at most",
		       l->burst, RL_SHARE_FILL_MAX);
	else
		rl_say(s, "window_ns",
		       "%" PRIu64 "; a sub-bucket of a limit of a cluster takes %" PRIu64
		       " (125 ms) at least",
		       l->window_ns, RL_SHARE_WIDTH_MIN);
	return false;
}

int
rl_limit_check(const struct rl_limit *l, uint32_t ring, const struct rl_sentence *s)
{
	const struct rl_field *field;

	if (!RL_IS_RESERVED(l->reserved)) {
		rl_say(s, "reserved", RL_RESERVED_TEXT);
		return -EINVAL;
	}
	if (!rl_limit_check_algorithm(l, s))
		return -EINVAL;
	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (!check_field(field, l, s))
			return -EINVAL;
	if (!check_burst(l, s) || !check_prefetch(l, s) || !check_share(l, s) || !check_auto(l, s))
		return -EINVAL;
	return rl_shape_ring_least(l) > ring ? RL_ERING : 0;
}
