/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/page_health.h"

#include <health/health.h>
#include <stdarg.h>
#include <stdio.h>
#include <text/duration.h>

__attribute__((format(printf, 3, 4))) static void
put(json_t *health, const char *level, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	json_array_append_new(health, json_pack("{s:s, s:s}", "level", level, "text", text));
}

static void
add_area(json_t *areas, json_t *health, const struct health_area *area)
{
	json_array_append_new(areas,
	                      json_pack("{s:s, s:I, s:I}", "name", area->name, "used",
	                                (json_int_t)area->used, "room", (json_int_t)area->room));
	if (health_is_nearly_full(area))
		put(health, area->is_finding ? "warn" : "note",
		    "%s: %llu of %llu are used; make the segment larger", area->name,
		    (unsigned long long)area->used, (unsigned long long)area->room);
}

static void
add_areas(json_t *page, json_t *health, const struct report *r, const struct rl_info *info,
          uint64_t now_ns)
{
	struct health_area all[HEALTH_AREAS];
	json_t *areas = json_array();

	health_areas(r->rl, info, now_ns, sweeper_used(r->sweeper), all);
	for (int i = 0; i < HEALTH_AREAS; i++)
		add_area(areas, health, &all[i]);
	json_object_set_new(page, "areas", areas);
}

static void
put_configuration(json_t *health, const struct report *report, const struct rl_info *info)
{
	if (report->loads->is_last_good)
		put(health, "ok", "the configuration is in force, generation %llu",
		    (unsigned long long)info->generation);
	else
		put(health, "warn",
		    "the configuration was refused, the one before is in force; 'rlctl config "
		    "check' says why");
}

static void
put_losses(json_t *health, const struct health_losses *losses)
{
	put(health, losses->without_slot == 0 ? "ok" : "warn",
	    "%llu decisions were for keys that found no slot since the rules began",
	    (unsigned long long)losses->without_slot);
	if (losses->redefined > 0)
		put(health, "note", "%llu definitions of rules replaced a different one",
		    (unsigned long long)losses->redefined);
	if (losses->nameless > 0)
		put(health, "warn", "%u rules have no readable name: the segment is damaged",
		    (unsigned)losses->nameless);
}

struct overflow {
	json_t *health;
	struct rl *rl;
};

/* A limit's keys without a slot that are denied for others' sake. */
static int
put_overflow(const struct rl_overflow_info *limit, void *arg)
{
	struct overflow *overflow = arg;
	uint32_t hundredths = limit->denied_ppm / 100;
	struct rl_rule_info rule = {.name = ""};

	if (limit->rule >= 0)
		rl_rule_info(overflow->rl, limit->rule, &rule);
	put(overflow->health, limit->denied_ppm < HEALTH_DENIED_PPM ? "ok" : "warn",
	    "rule %s, limit %u: of its keys without a slot %u.%02u %% are denied for what others "
	    "have used",
	    rule.name, limit->limit + 1, hundredths / 100, hundredths % 100);
	return 0;
}

static void
put_clock(json_t *health, const struct rl *rl)
{
	bool is_behind;
	uint64_t off_ns = health_clock_off_ns(rl, &is_behind);

	if (off_ns >= HEALTH_CLOCK_NS)
		put(health, "warn", "the segment's clock is %s %s the wall clock",
		    duration_format(off_ns).text, is_behind ? "behind" : "ahead of");
}

int
page_add_health(json_t *page, const struct report *report, const struct rl_info *info,
                uint64_t now_ns)
{
	struct health_losses losses = health_losses(report->rl, info);
	json_t *health = json_array();

	add_areas(page, health, report, info, now_ns);
	put_configuration(health, report, info);
	put_losses(health, &losses);
	rl_overflow_walk(report->rl, now_ns, put_overflow,
	                 &(struct overflow){.health = health, .rl = report->rl});
	put_clock(health, report->rl);
	return json_object_set_new(page, "health", health);
}
