/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/limit_view.h"

#include <inttypes.h>
#include <model/limit.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "text/duration.h"
#include "text/names.h"

/* Length of a sub-bucket; the window where there are none. */
static uint64_t
bucket_ns(const struct rl_limit *limit)
{
	return limit->granularity > 1 ? limit->window_ns / limit->granularity : limit->window_ns;
}

static void __attribute__((format(printf, 2, 3)))
append(struct limit_text *out, const char *format, ...)
{
	size_t used = strlen(out->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out->text + used, sizeof(out->text) - used, format, arguments);
	va_end(arguments);
}

static void
append_prefixes(struct limit_text *out, const struct rl_limit *limit)
{
	if (limit->prefix_v4 > 0)
		append(out, ", IPv4 /%u", limit->prefix_v4);
	if (limit->prefix_v6 > 0)
		append(out, ", IPv6 /%u", limit->prefix_v6);
}

struct limit_text
limit_format(const struct rl_limit *limit)
{
	struct limit_text out = {""};

	if (limit->algorithm == RL_COUNTER) {
		append(&out, "counters by key");
		return out;
	}
	append(&out, "%s, %" PRIu32, algorithm_name(limit->algorithm), limit->capacity);
	if (limit->algorithm == RL_IN_FLIGHT)
		append(&out, " at once");
	else
		append(&out, " per %s", duration_format(limit->window_ns).text);
	if (limit->granularity > 1)
		append(&out, ", %" PRIu32 " x %s", limit->granularity,
		       duration_format(bucket_ns(limit)).text);
	if (limit->hard)
		append(&out, ", hard");
	if (limit->burst > 0)
		append(&out, ", burst %" PRIu32, limit->burst);
	if (limit->undelayed > 0)
		append(&out, ", undelayed %" PRIu32, limit->undelayed);
	if (limit->prefetch > 0)
		append(&out, ", prefetch %u", (unsigned)limit->prefetch);
	if (limit->count_denied)
		append(&out, ", counting denied ones");
	if (limit->scope == RL_SCOPE_CLUSTER)
		append(&out, ", of the cluster, blind %" PRIu32 ", max cost %" PRIu32, limit->blind,
		       limit_cost_shared(limit));
	append_prefixes(&out, limit);
	if (limit->shadow)
		append(&out, ", shadow");
	return out;
}

static uint32_t
granularity_of(const struct rl_limit *limit)
{
	return limit->granularity > 0 ? limit->granularity : 1;
}

json_t *
json_limit(const struct rl_limit *limit)
{
	json_t *object = need(json_object());

	json_put(object, "algorithm", json_text(algorithm_name(limit->algorithm)));
	json_put(object, "capacity", json_count(limit->capacity));
	json_put(object, "window_ns", json_duration(limit->window_ns));
	json_put(object, "granularity", json_count(granularity_of(limit)));
	json_put(object, "hard", json_boolean(limit->hard));
	json_put(object, "burst", json_count(limit->burst));
	json_put(object, "undelayed", json_count(limit->undelayed));
	json_put(object, "prefetch", json_count(limit->prefetch));
	json_put(object, "count_denied", json_boolean(limit->count_denied));
	if (limit->scope == RL_SCOPE_CLUSTER) {
		json_put(object, "scope", json_text("cluster"));
		json_put(object, "blind", json_count(limit->blind));
		json_put(object, "away", json_text(away_name(limit->away)));
	}
	json_put(object, "shadow", json_boolean(limit->shadow));
	json_put(object, "prefix_v4", json_count(limit->prefix_v4));
	json_put(object, "prefix_v6", json_count(limit->prefix_v6));
	return object;
}
