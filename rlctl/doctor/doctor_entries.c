/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of what is in the table. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/rule.h"
#include "doctor/doctor.h"
#include "key/usage.h"
#include "text/names.h"

#define AHEAD_MIN (2 * RL_SECOND) /* no two clocks of one host differ by that much */
#define NAMELESS_MAX 256          /* that are known again; of more, any */
#define STALE_SHARE 4             /* of the slots, one in so many */

/* All keys of the table, gathered in one walk. */
struct census {
	uint64_t seen;
	uint64_t stale;
	uint64_t ruleless; /* of limits that are in no rule any more */
	uint64_t cut;      /* not all bytes of their key are kept */
	uint64_t unkept;   /* the segment keeps no names */
	uint64_t nameless; /* their key does not match their tag, and did not in an earlier
	                      census; */
	uint64_t nameless_id[NAMELESS_MAX]; /* the first of them */
	uint64_t ahead;                     /* charged at a time that the clock has not reached */
	char ahead_key[160];
};

struct inspection {
	struct rl *rl;
	uint64_t now_ns;
	bool has_names;               /* the segment keeps some */
	const struct census *earlier; /* NULL: there was none */
	struct census *census;
};

static bool
was_nameless(const struct census *earlier, uint64_t id)
{
	for (uint64_t i = 0; i < earlier->nameless && i < NAMELESS_MAX; i++)
		if (earlier->nameless_id[i] == id)
			return true;
	return earlier->nameless > NAMELESS_MAX;
}

/* What is being written right now looks damaged, too, each time another. */
static void
count_nameless(const struct inspection *inspection, uint64_t id)
{
	struct census *census = inspection->census;

	if (inspection->earlier && !was_nameless(inspection->earlier, id))
		return;
	if (census->nameless < NAMELESS_MAX)
		census->nameless_id[census->nameless] = id;
	census->nameless++;
}

/* Buckets have one time alone: the longest they can take to be idle again tells. */
static bool
is_ahead_bucket(const struct inspection *inspection, const struct rl_entry *entry)
{
	const struct rl_limit *limit;
	struct rl_rule_info rule;
	uint64_t longest_ns;

	if (!rl_rule_info(inspection->rl, entry->rule, &rule) || entry->limit >= rule.limit_count)
		return false;
	limit = &rule.limits[entry->limit];
	if (!(algorithm_info(limit->algorithm)->flags & RL_IS_BUCKET))
		return false;
	longest_ns = (uint64_t)((unsigned __int128)limit->window_ns * entry->peek.limit /
	                        (limit->capacity ? limit->capacity : 1));
	return entry->peek.reset_after_ns != RL_NEVER_NS &&
	       entry->peek.reset_after_ns > longest_ns + AHEAD_MIN;
}

static bool
is_ahead(const struct inspection *inspection, const struct rl_entry *entry)
{
	return usage_of(entry).newest_ns > inspection->now_ns + AHEAD_MIN ||
	       is_ahead_bucket(inspection, entry);
}

static void
keep_ahead(const struct inspection *inspection, const struct rl_entry *entry)
{
	char *key = entry->key ? escape(entry->key, entry->key_kept) : NULL;

	if (inspection->census->ahead++ == 0)
		snprintf(inspection->census->ahead_key, sizeof(inspection->census->ahead_key),
		         "%s of rule %s", key ? key : "one without a name",
		         rule_label(inspection->rl, entry->rule).text);
	free(key);
}

static int
count_entry(const struct rl_entry *entry, void *arg)
{
	const struct inspection *inspection = arg;
	struct census *census = inspection->census;

	census->seen++;
	if (entry->rule < 0) {
		census->ruleless++;
		return 0;
	}
	if (!entry->key && inspection->has_names)
		count_nameless(inspection, entry->id);
	census->unkept += !entry->key && !inspection->has_names;
	census->cut += entry->key && !entry_has_key(entry);
	if (entry->is_stale)
		census->stale++;
	else if (is_ahead(inspection, entry))
		keep_ahead(inspection, entry);
	return 0;
}

static void
take_census(struct doctor *doctor, const struct census *earlier, struct census *census)
{
	struct inspection inspection = {doctor->rl, rl_now(doctor->rl), doctor->info.key_bytes > 0,
	                                earlier, census};

	*census = (struct census){0};
	rl_walk(doctor->rl, inspection.now_ns, NULL, count_entry, &inspection);
}

static void
judge_names(struct doctor *doctor, uint64_t nameless)
{
	if (nameless == 0)
		return;
	doctor_say(doctor, DOCTOR_FINDING,
	           "their names were damaged or never written; they count right, and show as "
	           "#hash",
	           "%" PRIu64 " keys have names that do not match their tags", nameless);
	doctor_fix(doctor,
	           "none needed: rlctl --segment %s sweep frees them once they are over; "
	           "should it grow, look for who else writes %s",
	           doctor->name, doctor->place.path);
}

static void
judge_ahead(struct doctor *doctor, const struct census *census)
{
	if (census->ahead == 0)
		return;
	doctor_say(doctor, DOCTOR_FINDING,
	           "a worker passes times of another clock or another unit; until then these keys "
	           "stay as they are",
	           "%" PRIu64 " keys were charged in the future, such as %s", census->ahead,
	           census->ahead_key);
	doctor_fix(doctor, "pass rl_now(); then rlctl --segment %s reset KEY", doctor->name);
}

static void
judge_ruleless(struct doctor *doctor, const struct census *census)
{
	if (census->ruleless == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE, "they limit nothing, and use slots",
	           "%" PRIu64 " keys are of limits that are in no rule any more", census->ruleless);
	doctor_fix(doctor, "rlctl --segment %s sweep", doctor->name);
}

static void
judge_stale(struct doctor *doctor, const struct census *census)
{
	if (census->stale * STALE_SHARE <= doctor->info.slots)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "an insert whose candidate slots are all used has to retire one first",
	           "%" PRIu64 " expired keys still use slots", census->stale);
	doctor_fix(doctor, "rlctl --segment %s sweep, or run rld", doctor->name);
}

static void
judge_cut(struct doctor *doctor, const struct census *census)
{
	if (census->cut + census->unkept == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "they count right, but no list, dump, or reset of many can name them",
	           "of %" PRIu64 " keys not all bytes are kept (%" PRIu32 " are)",
	           census->cut + census->unkept, doctor->info.key_bytes);
	doctor_fix(doctor, doctor->info.key_bytes > 0
	                           ? "make the segment with more key_bytes"
	                           : "none if it is to keep no names; else make it with key_bytes");
}

/* Names twice: what stays damaged is. */
void
check_entries(struct doctor *doctor)
{
	size_t before = doctor->count;
	struct census first, second;

	take_census(doctor, NULL, &first);
	if (first.nameless > 0)
		doctor_settle();
	take_census(doctor, &first, &second);
	judge_names(doctor, second.nameless);
	judge_ahead(doctor, &second);
	judge_ruleless(doctor, &second);
	judge_stale(doctor, &second);
	judge_cut(doctor, &second);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL, "%" PRIu64 " keys, nothing unusual",
		           second.seen);
}
