/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the segment is whole: by the library's audit, which the tests of the library use, too. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/rule.h"
#include "doctor/doctor.h"
#include "key/usage.h"

enum remedy {
	REMEDY_NONE, /* but to look for who did it */
	REMEDY_SWEEP,
	REMEDY_WAIT_OR_RECREATE,
	REMEDY_RESET,
	REMEDY_RESET_EACH,
	REMEDY_RECREATE,
};

/* The meaning of a fault. */
static const struct meaning {
	const char *of;
	const char *why;
	enum remedy remedy;
} meanings[RL_FAULTS] = {
	[RL_FAULT_STATUS] = {"slot", "no worker writes that, and no key can have the slot",
                             REMEDY_SWEEP},
	[RL_FAULT_FREE] = {"slot", "it is not found; the next key there, or a sweep, puts it back",
                           REMEDY_NONE},
	[RL_FAULT_NO_LIMIT] = {"slot", "it counts for nobody, and uses the slot", REMEDY_SWEEP},
	[RL_FAULT_NAME] = {"slot", "what is shown as that key's count is another's",
                           REMEDY_WAIT_OR_RECREATE},
	[RL_FAULT_SLOT] = {"slot",
                           "requests do not find it there: its key has a count that starts anew",
                           REMEDY_WAIT_OR_RECREATE},
	[RL_FAULT_RING] = {"slot", "its key is admitted too much or too little, for a window",
                           REMEDY_RESET},
	[RL_FAULT_SUM] = {"slot", "its key is admitted too much or too little, for a window",
                          REMEDY_RESET},
	[RL_FAULT_ORDER] = {"slot", "its key is admitted too much or too little, for a window",
                            REMEDY_RESET},
	[RL_FAULT_TWICE] = {"slot", "each slot counts for itself: its key may be admitted twice",
                            REMEDY_RESET_EACH},
	[RL_FAULT_TALLY] = {"slot", "its key is admitted too much or too little, until it is reset",
                            REMEDY_RESET},
	[RL_FAULT_REFERENCE] = {"rule", "it limits by the counters of another rule",
                                REMEDY_RECREATE},
	[RL_FAULT_RULE] = {"rule", "workers may find one rule at two places, or not at all",
                           REMEDY_RECREATE},
	[RL_FAULT_LIMIT] = {"limit row", "workers may find one limit at two places, or not at all",
                            REMEDY_RECREATE},
};

struct tally {
	uint64_t count[RL_FAULTS];
	uint64_t first[RL_FAULTS];
	struct rl_audit seen;
};

static int
tally_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	struct tally *tally = arg;

	if (tally->count[fault]++ == 0)
		tally->first[fault] = at;
	return 0;
}

static int
audit(struct doctor *doctor, struct tally *tally)
{
	*tally = (struct tally){0};
	return rl_audit(doctor->rl, tally_fault, tally, &tally->seen);
}

/* The owner of a slot, for people. */
struct owner {
	struct rl *rl;
	uint64_t slot;
	char text[160];
};

static int
is_its(const struct rl_prefilter *prefilter, void *arg)
{
	return prefilter->slot == ((const struct owner *)arg)->slot;
}

static int
keep_owner(const struct rl_entry *entry, void *arg)
{
	struct owner *owner = arg;
	char *key = entry->key ? escape(entry->key, entry->key_kept) : NULL;

	snprintf(owner->text, sizeof(owner->text), " (%s of rule %s)",
	         key ? key : "one without a name",
	         limit_label(owner->rl, entry->rule, entry->limit).text);
	free(key);
	return 1;
}

static void
mend_fault(struct doctor *doctor, enum remedy remedy)
{
	const char *name = doctor->name;

	switch (remedy) {
	case REMEDY_NONE:
		doctor_fix(doctor,
		           "none needed; should it grow, look for who else writes "
		           "%s",
		           doctor->place.path);
		break;
	case REMEDY_SWEEP:
		doctor_fix(doctor, "rlctl --segment %s sweep", name);
		break;
	case REMEDY_WAIT_OR_RECREATE:
		doctor_fix(doctor,
		           "rlctl --segment %s sweep, once its window is over; at once: rlctl "
		           "--segment %s unlink, and restart the workers",
		           name, name);
		break;
	case REMEDY_RESET:
		doctor_fix(doctor, "rlctl --segment %s reset KEY", name);
		break;
	case REMEDY_RESET_EACH:
		doctor_fix(doctor, "rlctl --segment %s reset KEY, once for each slot", name);
		break;
	case REMEDY_RECREATE:
		doctor_fix(doctor, DOCTOR_RECREATE, name, name, "", name);
		break;
	}
}

static void
judge_fault(struct doctor *doctor, const struct tally *tally, enum rl_fault fault)
{
	const struct meaning *meaning = &meanings[fault];
	struct owner owner = {.rl = doctor->rl, .slot = tally->first[fault]};

	if (tally->count[fault] == 0)
		return;
	if (fault < RL_FAULT_REFERENCE)
		rl_walk(doctor->rl, doctor->now_ns, is_its, keep_owner, &owner);
	doctor_say(doctor, DOCTOR_FINDING, meaning->why, "%s %" PRIu64 "%s: %s; such %ss: %" PRIu64,
	           meaning->of, tally->first[fault], owner.text, rl_fault_text(fault), meaning->of,
	           tally->count[fault]);
	mend_fault(doctor, meaning->remedy);
}

static void
judge_left_over(struct doctor *doctor, uint64_t left)
{
	if (left == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "workers that were killed leave them; they block nobody and are used again by "
	           "their own keys",
	           "%" PRIu64 " slots are half claimed or half freed", left);
	doctor_fix(doctor, "rlctl --segment %s sweep", doctor->name);
}

static uint64_t
left_over(const struct tally *tally)
{
	return tally->seen.claimed + tally->seen.retiring;
}

/* The work of a moment looks left over, too: only a fault that stays is one. */
static int
audit_again(struct doctor *doctor, const struct tally *first, struct tally *last)
{
	*last = *first;
	if (left_over(first) == 0)
		return 0;
	doctor_settle();
	return audit(doctor, last);
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void
check_audit(struct doctor *doctor)
{
	size_t before = doctor->count;
	struct tally first, last;

	if (audit(doctor, &first) < 0 || audit_again(doctor, &first, &last) < 0) {
		doctor_say(doctor, DOCTOR_SKIPPED, NULL, "there is no memory for it");
		return;
	}
	for (int fault = 0; fault < RL_FAULTS; fault++)
		judge_fault(doctor, &last, (enum rl_fault)fault);
	judge_left_over(doctor, least(left_over(&first), left_over(&last)));
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "%" PRIu64 " keys, their rings and names, and the rules are as they "
		           "should be",
		           last.seen.live);
}
