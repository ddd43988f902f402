/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/timed.h"

#include <inttypes.h>

#include "base/rule.h"
#include "text/duration.h"

static const struct rl_limit *
limit_at(const struct rl_rule_info *rule, unsigned limit)
{
	return limit < rule->limit_count ? &rule->limits[limit] : NULL;
}

static struct timed_rate
rate_of(uint32_t capacity, uint64_t window_ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} usual[] = {{RL_SECOND, "s"},
	             {60 * RL_SECOND, "min"},
	             {3600 * RL_SECOND, "h"},
	             {86400 * RL_SECOND, "d"}};
	const char *name = NULL;
	struct timed_rate out;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (usual[i].ns == window_ns)
			name = usual[i].name;
	if (window_ns == 0)
		snprintf(out.text, sizeof(out.text), "%" PRIu32, capacity);
	else
		snprintf(out.text, sizeof(out.text), "%" PRIu32 "/%s", capacity,
		         name ? name : duration_exact(window_ns).text);
	return out;
}

struct timed_rate
timed_rate(struct rl *rl, int rule, unsigned limit, uint32_t capacity)
{
	struct rl_rule_info info;
	const struct rl_limit *of =
		rule != RL_ANY_RULE && rule_read(rl, rule, &info) ? limit_at(&info, limit) : NULL;

	return rate_of(capacity, of && of->algorithm != RL_IN_FLIGHT ? of->window_ns : 0);
}

struct timed_rate
timed_rate_before(struct rl *rl, int rule, unsigned limit)
{
	struct rl_rule_info info;
	const struct rl_limit *of =
		rule != RL_ANY_RULE && rule_read(rl, rule, &info) ? limit_at(&info, limit) : NULL;

	return of ? timed_rate(rl, rule, limit, of->capacity) : (struct timed_rate){"-"};
}

uint64_t
timed_left_ns(uint64_t until_ns, uint64_t now_ns)
{
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	return left_ns > RL_SECOND ? left_ns - left_ns % RL_SECOND : left_ns;
}

void
timed_print_until(FILE *out, uint64_t until_ns, uint64_t now_ns)
{
	fprintf(out, "%s left, until %s UTC", duration_format(timed_left_ns(until_ns, now_ns)).text,
	        time_format(until_ns, false).text);
}

static void
print_one(FILE *out, struct rl *rl, const struct active_ban *timed, uint64_t now_ns)
{
	fprintf(out, "stands       %s for a time in place of %s, rule %s,\n" STANDS_INDENT,
	        timed_rate(rl, timed->rule, timed->limit, timed->capacity).text,
	        timed_rate_before(rl, timed->rule, timed->limit).text,
	        limit_label(rl, timed->rule, timed->limit).text);
	timed_print_until(out, timed->until_ns, now_ns);
	putc('\n', out);
	active_ban_print_note(out, timed, now_ns);
}

void
timed_print(FILE *out, struct rl *rl, const struct active_bans *list)
{
	for (size_t i = 0; i < list->count; i++)
		print_one(out, rl, &list->items[i], list->now_ns);
}

json_t *
timed_json(struct rl *rl, const struct active_ban *timed)
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_rule_name(rl, timed->rule));
	json_put(object, "limit_number", json_count(timed->limit + UINT64_C(1)));
	json_put_key(object, &timed->key);
	json_put(object, "capacity", json_count(timed->capacity));
	json_put(object, "until_ns", json_count(timed->until_ns));
	active_ban_put_note(object, timed);
	return object;
}
