/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of a full table: keys without a slot, and who takes the slots. */

#include <inttypes.h>
#include <share/share.h>

#include "base/counts.h"
#include "base/overflow_view.h"
#include "base/rule.h"
#include "doctor/doctor.h"
#include "health/health.h"
#include "text/duration.h"

#define CROWD 10      /* per cent */
#define SHARE_HIGH 25 /* per cent */
#define RULE_HIGH 50  /* per cent: one of two has that */

/* A limit whose keys without a slot notice each other. */
static void
judge_overflow(struct doctor *doctor, const struct rl_overflow_info *info)
{
	struct rule_text label = limit_label(doctor->rl, info->rule, info->limit);

	if (info->denied_ppm < HEALTH_DENIED_PPM)
		return;
	doctor_say(doctor, DOCTOR_FINDING,
	           "they share its overflow counters with a crowd, whatever they have used "
	           "themselves; keys that have a slot do not",
	           "%s: %s of its keys without a slot are denied for what others have used, for "
	           "%s at most",
	           label.text, overflow_denied(info->denied_ppm).text,
	           duration_format(info->until_ns - doctor->now_ns).text);
	doctor_mend_table(doctor, "");
}

/* All sets are taken: a further limit's keys without a slot are denied, or undecided. */
static void
judge_sets(struct doctor *doctor, const struct overflow_view *view)
{
	if (view->cells < (uint64_t)doctor->info.reserves * doctor->info.cells)
		return;
	doctor_say(doctor, DOCTOR_FINDING,
	           "a further limit has no overflow counters: its keys without a slot are denied, "
	           "with ENOSPC",
	           "%zu limits with keys without a slot have all %" PRIu32
	           " sets of overflow counters",
	           view->count, doctor->info.reserves);
	doctor_mend_table(doctor, "");
}

/* The share of denials among a rule's decisions for keys without a slot. */
static void
report_denied(struct doctor *doctor, const struct rule_counts *rule)
{
	uint64_t reserved = rule->values[RL_COUNT_reserved];
	uint64_t denied = rule->values[RL_COUNT_reserve_denied];

	if (denied == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "unless this is an attack, some keys are denied for what other keys of the rule "
	           "have used",
	           "rule %s: of %" PRIu64 " decisions for keys without a slot, %u %% were denied",
	           rule->name, reserved, share_percent(denied, reserved));
	doctor_fix(doctor, "rlctl --segment %s stats --watch --rule %s shows whether it goes on",
	           doctor->name, rule->name);
}

void
check_overflow(struct doctor *doctor)
{
	struct overflow_view view = overflow_view_read(doctor->rl, RL_ANY_RULE, doctor->now_ns);
	struct counts counts = counts_read(doctor->rl, RL_ANY_RULE);
	size_t before = doctor->count;

	for (size_t i = 0; i < view.count; i++)
		judge_overflow(doctor, &view.limits[i]);
	if (doctor->info.reserves > 0)
		judge_sets(doctor, &view);
	for (size_t i = 0; i < counts.count; i++)
		report_denied(doctor, &counts.rules[i]);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "%zu limits have keys without a slot, of which %s at most are denied "
		           "for what others have used",
		           view.count, overflow_denied(view.denied_ppm).text);
	counts_free(&counts);
	overflow_view_free(&view);
}

/* Of a table with room, nobody takes anything away from others. */
static bool
is_full(const struct doctor *doctor)
{
	return share_percent(rl_fill(doctor->rl), doctor->info.slots) >= HEALTH_TABLE_PERCENT ||
	       doctor->info.reserve_until_ns > doctor->now_ns;
}

static void
judge_rule(struct doctor *doctor, const struct shares *s)
{
	const struct share_rule *rule = shares_rule(s, RULE_HIGH);
	struct rule_text label;

	if (!rule || doctor->info.rules_used < 2)
		return;
	label = rule_label(doctor->rl, rule->rule);
	doctor_say(doctor, DOCTOR_NOTE,
	           "new keys of the other rules find what it leaves them: they take no more than "
	           "their part of it, and none is pushed out",
	           "rule %s takes %u %% of the used slots", label.text,
	           share_percent(rule->slots, s->used));
	doctor_fix(doctor,
	           "rlctl --segment %s list --rule %s --sort recent --limit 20 shows whose; "
	           "prefixes for its limits make fewer keys of a network",
	           doctor->name, label.text);
}

static void
judge_network(struct doctor *doctor, const struct shares *s)
{
	const struct share_network *network = shares_network(s, s->addresses, SHARE_HIGH);

	/* A few clients behind one address of an office are no flood. */
	if (!network || network->keys * 100 <= s->used * CROWD)
		return;
	doctor_say(
		doctor, DOCTOR_FINDING,
		"the owner of a network can make up addresses in it, each a key with a slot",
		"network %s has %u %% of the keys that are addresses, and %u %% of the used slots",
		network->text, share_percent(network->keys, s->addresses),
		share_percent(network->keys, s->used));
	doctor_fix(doctor,
	           "rlctl --segment %s ban %s --for 1h, if nobody else is in it; prefixes for "
	           "the limits make one key of it",
	           doctor->name, network->text);
}

void
check_shares(struct doctor *doctor)
{
	size_t before = doctor->count;
	struct shares shares;

	if (!is_full(doctor)) {
		doctor_say(doctor, DOCTOR_OK, NULL, "there is room for all");
		return;
	}
	if (shares_take(doctor->rl, doctor->now_ns, &shares) < 0) {
		doctor_say(doctor, DOCTOR_SKIPPED, NULL, "no memory");
		return;
	}
	judge_rule(doctor, &shares);
	judge_network(doctor, &shares);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "no rule and no network takes much more than others");
	shares_free(&shares);
}
