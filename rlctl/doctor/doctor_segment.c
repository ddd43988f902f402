/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the segment: whether it opens, whose it is, its clock, its room, its rules. */

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/counts.h"
#include "base/output.h"
#include "base/process.h"
#include "base/rule.h"
#include "doctor/doctor.h"
#include "health/health.h"
#include "text/duration.h"
#include "text/layout.h"

#define HEARTBEAT_LATE (5 * RL_SECOND) /* rld beats every second */
#define CLOCK_NOTABLE RL_SECOND        /* more than reading two clocks can take */

static const char *
why_not_open(const struct doctor *doctor)
{
	switch (doctor->error) {
	case -ENOENT:
		if (!doctor_may_create(doctor))
			return "nobody has made it yet, and this user cannot: no permission to "
			       "write " DOCTOR_OWN;
		return "nobody has made it yet, or it was removed: nothing is limited by it";
	case -EACCES:
		return "this user may not read it";
	case RL_EDIRECTORY:
		return "this user may not see what is in " DOCTOR_OWN;
	case RL_ETWICE:
		return "a worker that starts now is told so; those that run count in the one that "
		       "they found";
	case RL_ECLOCK:
		return "its times would be others here: workers of this time namespace cannot "
		       "share it";
	case RL_EVERSION:
		return "workers of another version of rl cannot share it";
	case RL_EBOOT:
		return "it was copied from another boot, and its times mean nothing now";
	default:
		return "no worker can open it, and each tells this error";
	}
}

static void
fix_open(struct doctor *doctor)
{
	const char *name = doctor->name;

	if (doctor->error == -ENOENT && !doctor_may_create(doctor))
		doctor_fix_membership(doctor);
	else if (doctor->error == -ENOENT)
		doctor_fix(doctor, "start a worker or rld, or name another with --segment: ls "
		                   "-d /dev/shm/rl.* /dev/shm/rl/rl.*");
	else if (doctor->error == -EACCES)
		doctor_fix(doctor, "run this as root, or as the owner of %s", doctor->place.path);
	else if (doctor->error == RL_EDIRECTORY)
		doctor_fix(doctor, "run this as root, or as a member of the group of " DOCTOR_OWN);
	else if (doctor->error == RL_ETWICE)
		doctor_fix(doctor,
		           "fuser -v %s /dev/shm/rl.%s tells which is used; remove the other, and "
		           "restart the processes that used it",
		           doctor->place.path, name);
	else if (doctor->error == RL_ECLOCK)
		doctor_fix(doctor,
		           "run this where the workers run (nsenter --time), or mount /proc "
		           "here and there");
	else if (doctor->error == RL_EVERSION && doctor->place.layout != doctor->place.own_layout)
		doctor_fix(doctor,
		           "rlctl --segment %s upgrade carries its counters over; then restart all "
		           "workers on one version",
		           name);
	else if (doctor->error == RL_EVERSION)
		doctor_fix(doctor, "rlctl --segment %s unlink, and restart the workers", name);
	else
		doctor_fix(doctor, "%s; then restart the workers", rl_error_remedy(doctor->error));
}

void
check_segment(struct doctor *doctor)
{
	struct other_layout other = {.text = ""};

	if (doctor->rl) {
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "opens, layout %" PRIu32 ", %s, %" PRIu64 " slots", doctor->info.layout,
		           bytes_format(doctor->info.bytes).text, doctor->info.slots);
		return;
	}
	if (doctor->error == RL_EVERSION)
		other_layout(doctor->name, &other);
	doctor_say(doctor, DOCTOR_FINDING, why_not_open(doctor), "segment '%s': %s%s%s",
	           doctor->name, rl_strerror(doctor->error), other.text[0] ? ": " : "", other.text);
	fix_open(doctor);
}

static void
check_strangers(struct doctor *doctor)
{
	mode_t mode = doctor->info.mode;

	if (mode & S_IWOTH) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "every user of this host may falsify counts, or truncate the file and "
		           "so kill every worker",
		           "everybody may write it (mode %04o)", mode & 07777U);
		doctor_fix(doctor, "chmod o-rw %s", doctor->place.path);
	} else if (mode & S_IROTH) {
		doctor_say(doctor, DOCTOR_NOTE,
		           "keys name clients: addresses, users; and workers that did not ask for "
		           "such "
		           "a mode refuse to open it, for its hash key is known",
		           "everybody may read it (mode %04o)", mode & 07777U);
		doctor_fix(doctor, "chmod o-r %s", doctor->place.path);
	}
}

/* The file should belong to a user that there is. */
static void
check_names(struct doctor *doctor)
{
	const struct rl_info *info = &doctor->info;

	if (!getpwuid(info->owner)) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "a user that is made later may be given this number, and the segment",
		           "its owner %u is no user here", (unsigned)info->owner);
		doctor_fix(doctor, "chown root %s", doctor->place.path);
	}
	if ((info->mode & (S_IRGRP | S_IWGRP)) && !getgrgid(info->group)) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "a group that is made later may be given this number, and the segment",
		           "its group %u is no group here", (unsigned)info->group);
		doctor_fix(doctor, "chgrp root %s", doctor->place.path);
	}
}

void
check_access(struct doctor *doctor)
{
	size_t before = doctor->count;

	check_strangers(doctor);
	check_names(doctor);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL, "mode %04o, for its owner%s alone",
		           doctor->info.mode & 07777U,
		           doctor->info.mode & S_IRWXG ? " and group" : "");
}

/* Its state stands behind its name, which may have brackets itself. */
static bool
is_stopped(pid_t pid)
{
	char path[40], line[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pid == RL_PID_ELSEWHERE || !doctor_read_line(path, line, sizeof(line)))
		return false;
	end = strrchr(line, ')');
	return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

struct sweeper_text {
	char text[48];
};

/* A pid of another namespace would name somebody else here. */
static struct sweeper_text
sweeper_format(pid_t pid)
{
	struct sweeper_text out = {"of another pid namespace"};

	if (pid != RL_PID_ELSEWHERE)
		snprintf(out.text, sizeof(out.text), "pid %d", (int)pid);
	return out;
}

void
check_sweeper(struct doctor *doctor)
{
	const struct rl_info *info = &doctor->info;
	uint64_t age_ns =
		doctor->now_ns > info->heartbeat_ns ? doctor->now_ns - info->heartbeat_ns : 0;

	if (info->sweeper == 0) {
		doctor_say(doctor, DOCTOR_NOTE,
		           "workers clean up as they insert; rld does so before there is need, and "
		           "reports",
		           "no sweeper");
		doctor_fix(doctor, "systemctl enable --now rld");
	} else if (!process_is_running(info->sweeper)) {
		doctor_say(doctor, DOCTOR_FINDING, "nobody sweeps, and nobody reports",
		           "the sweeper, %s, is gone: it was killed, or it crashed",
		           sweeper_format(info->sweeper).text);
		doctor_fix(doctor, "systemctl restart rld; journalctl -u rld says why it died");
	} else if (is_stopped(info->sweeper)) {
		doctor_say(doctor, DOCTOR_FINDING, "nobody sweeps, and nobody reports",
		           "the sweeper, %s, is stopped, by a signal or a debugger",
		           sweeper_format(info->sweeper).text);
		doctor_fix(doctor, "kill -CONT %d", (int)info->sweeper);
	} else if (age_ns > HEARTBEAT_LATE) {
		doctor_say(doctor, DOCTOR_FINDING, "it hangs, or is stopped: nobody sweeps",
		           "the sweeper, %s, was last heard of %s ago",
		           sweeper_format(info->sweeper).text, duration_format(age_ns).text);
		doctor_fix(doctor, "systemctl restart rld");
	} else {
		doctor_say(doctor, DOCTOR_OK, NULL, "%s, heard of %s ago",
		           sweeper_format(info->sweeper).text, duration_format(age_ns).text);
	}
}

void
check_clock(struct doctor *doctor)
{
	bool is_behind;
	uint64_t off_ns = health_clock_off_ns(doctor->rl, &is_behind);

	if (off_ns < CLOCK_NOTABLE) {
		doctor_say(doctor, DOCTOR_OK, NULL, "agrees with the wall clock");
		return;
	}
	doctor_say(doctor, off_ns < HEALTH_CLOCK_NS ? DOCTOR_NOTE : DOCTOR_FINDING,
	           "the wall clock was set since the segment was made, or this is another time "
	           "namespace and /proc is not there to say so; windows go by the segment's "
	           "clock, and so do not begin on the hour",
	           "the segment's clock is %s %s the wall clock", duration_format(off_ns).text,
	           is_behind ? "behind" : "ahead of");
	doctor_fix(doctor, DOCTOR_RECREATE, doctor->name, doctor->name, "", doctor->name);
}

/* Of a resize that was broken off, or goes on. */
static void
say_moving(struct doctor *doctor)
{
	if (doctor->info.slots_before == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "until all keys have moved there is memory for both tables; those that nobody "
	           "asks for are moved by rld, or by rlctl",
	           "keys are moving from a table of %" PRIu64 " slots", doctor->info.slots_before);
	doctor_fix(doctor, "rlctl --segment %s resize", doctor->name);
}

void
doctor_mend_table(struct doctor *doctor, const char *before)
{
	doctor_fix(doctor, "%srlctl --segment %s resize --keys %" PRIu64, before, doctor->name,
	           2 * doctor->info.keys);
}

void
check_fill(struct doctor *doctor)
{
	uint64_t used = rl_fill(doctor->rl), slots = doctor->info.slots;
	uint64_t permille = slots ? used * 1000 / slots : 0;
	char sweep[RL_NAME_MAX + 64];

	say_moving(doctor);
	if (permille < 10 * HEALTH_TABLE_PERCENT) {
		doctor_say(doctor, DOCTOR_OK, NULL, "%" PRIu64 " of %" PRIu64 " slots are used",
		           used, slots);
		return;
	}
	doctor_say(doctor, DOCTOR_FINDING,
	           "a key has 16 candidate slots, and the fuller the table, the more keys find "
	           "all of theirs used",
	           "%" PRIu64 ".%" PRIu64 " %% of the slots are used", permille / 10,
	           permille % 10);
	snprintf(sweep, sizeof(sweep),
	         "rlctl --segment %s sweep; if that frees little: ", doctor->name);
	doctor_mend_table(doctor, sweep);
}

/* False: none. */
static bool
say_reserved(struct doctor *doctor, const uint64_t total[RL_COUNTERS])
{
	if ((total[RL_COUNT_reserved] | total[RL_COUNT_folded]) == 0)
		return false;
	doctor_say(doctor, DOCTOR_FINDING,
	           "such a key is never admitted too much, and may be denied for what others of "
	           "its rule have used; a key that gives way is counted so, too",
	           "the table was full: %" PRIu64 " decisions for keys without a slot, %" PRIu64
	           " of them denied; %" PRIu64 " keys gave way to another rule's",
	           total[RL_COUNT_reserved], total[RL_COUNT_reserve_denied],
	           total[RL_COUNT_folded]);
	doctor_mend_table(doctor, "");
	return true;
}

void
check_full(struct doctor *doctor)
{
	static const enum rl_counter full[] = {RL_COUNT_full_denied, RL_COUNT_full_allowed,
	                                       RL_COUNT_full_undecided};
	struct counts counts = counts_read(doctor->rl, RL_ANY_RULE);
	uint64_t total[RL_COUNTERS], sum = 0;
	bool is_said;

	counts_total(&counts, total);
	counts_free(&counts);
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		sum += total[full[i]];
	is_said = say_reserved(doctor, total);
	if (sum == 0) {
		if (!is_said)
			doctor_say(doctor, DOCTOR_OK, NULL, "every key has found a slot so far");
		return;
	}
	doctor_say(doctor, DOCTOR_FINDING,
	           "what a key was denied or forgiven then was not its limit's doing",
	           "the table was full for %" PRIu64 " requests: %" PRIu64 " denied, %" PRIu64
	           " allowed, %" PRIu64 " undecided",
	           sum, total[RL_COUNT_full_denied], total[RL_COUNT_full_allowed],
	           total[RL_COUNT_full_undecided]);
	doctor_mend_table(doctor, "");
}

/* Two programs that disagree start the rule anew for each other; one may have changed its mind. */
static void
check_definitions(struct doctor *doctor, const struct rl_rule_info *rule)
{
	uint64_t counters[RL_COUNTERS], redefined;

	if (rl_stats(doctor->rl, rule->handle, counters, RL_COUNTERS) < 0)
		return;
	redefined = counters[RL_COUNT_redefined];
	if (redefined == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "an application that has changed its limits does so once; programs that "
	           "differ do so at each start, and another window starts the counts anew",
	           "rule %s: definitions that replaced a different one: %" PRIu64, rule->name,
	           redefined);
	doctor_fix(doctor, "configure the rule, which holds for all programs, or give it two "
	                   "names; with RL_DEFINE_KEEP the first definition stays");
}

static void
check_rule(struct doctor *doctor, int id)
{
	struct rl_rule_info rule;

	if (!rl_rule_info(doctor->rl, id, &rule))
		return;
	if (rule.name[0] == '\0') {
		doctor_say(doctor, DOCTOR_FINDING,
		           "its bytes were damaged, and no worker finds it by its name",
		           "rule %d has no readable name", id);
		doctor_fix(doctor, DOCTOR_RECREATE, doctor->name, doctor->name, "", doctor->name);
	} else if (rule.source == RL_SOURCE_NONE) {
		doctor_say(doctor, DOCTOR_NOTE,
		           "requests under it are allowed, uncounted; each is told so",
		           "rule %s was removed by the configuration", rule.name);
		doctor_fix(doctor, "add it to the configuration again, or take it out of the "
		                   "application");
	}
	check_definitions(doctor, &rule);
}

void
check_rules(struct doctor *doctor)
{
	size_t before = doctor->count;

	for (uint32_t id = 0; id < doctor->info.rules; id++)
		check_rule(doctor, (int)id);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL, "every rule has its name and its limits");
}

void
check_bans(struct doctor *doctor)
{
	struct health_area areas[HEALTH_AREAS];
	uint64_t count, room = doctor->info.bans;

	health_areas(doctor->rl, &doctor->info, doctor->now_ns, 0, areas);
	count = areas[HEALTH_BANS].used;
	if (!health_is_nearly_full(&areas[HEALTH_BANS])) {
		doctor_say(doctor, DOCTOR_OK, NULL, "%" PRIu64 " stand, room for at least %" PRIu64,
		           count, room);
		return;
	}
	doctor_say(doctor, DOCTOR_FINDING,
	           "past that number one more may find no place, and is refused",
	           "%" PRIu64 " bans and exemptions stand, and the segment is made for %" PRIu64,
	           count, room);
	doctor_fix(doctor,
	           "ban prefixes or networks in place of keys; rlctl --segment %s bans "
	           "shows what stands",
	           doctor->name);
}
