/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor: look at the host and the segment for what is wrong, or will be. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/command.h"
#include "base/output.h"
#include "base/width.h"
#include "doctor/doctor.h"
#include "text/error_text.h"

const struct doctor_check doctor_checks[] = {
	{"shm", false, check_shm},
	{"directory", false, check_directory},
	{"namespace", false, check_namespace},
	{"segment", false, check_segment},
	{"others", false, check_others},
	{"config", true, check_configuration},
	{"access", true, check_access},
	{"removeipc", true, check_removeipc},
	{"memory", true, check_memory},
	{"file_size", true, check_file_size},
	{"sweeper", true, check_sweeper},
	{"clock", true, check_clock},
	{"fill", true, check_fill},
	{"full", true, check_full},
	{"reserve", true, check_overflow},
	{"shares", true, check_shares},
	{"rules", true, check_rules},
	{"room", true, check_room},
	{"bans", true, check_bans},
	{"in_flight", true, check_holders},
	{"audit", true, check_audit},
	{"entries", true, check_entries},
	{"clients", true, check_clients},
	{"pages", true, check_pages},
	{"cluster", true, check_cluster},
	{0},
};

static const char *const level_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_NOTE] = "note",
	[DOCTOR_FINDING] = "finding",
	[DOCTOR_SKIPPED] = "skipped",
};

static uint64_t
count_level(const struct doctor *doctor, enum doctor_level level)
{
	uint64_t count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->results[i].level == level;
	return count;
}

#define WHAT_COLUMN 20
#define WHY_COLUMN 26

static void
print_result(const struct doctor_result *result)
{
	printf("%-8s %-10s ", level_names[result->level], result->check);
	print_wrapped(result->what, WHAT_COLUMN);
	if (result->why) {
		printf("%-19s why:  ", "");
		print_wrapped(result->why, WHY_COLUMN);
	}
	/* A command stays whole, to be copied. */
	if (result->fix[0])
		printf("%-19s fix: %s\n", "", result->fix);
}

static void
write_text(const struct doctor *doctor)
{
	uint64_t findings = count_level(doctor, DOCTOR_FINDING);
	uint64_t notes = count_level(doctor, DOCTOR_NOTE);

	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->results[i].level != DOCTOR_SKIPPED || doctor->rl)
			print_result(&doctor->results[i]);
	if (!doctor->rl)
		printf("%-8s %" PRIu64 " checks: there is no segment to look at\n",
		       level_names[DOCTOR_SKIPPED], count_level(doctor, DOCTOR_SKIPPED));
	printf("%" PRIu64 " %s, %" PRIu64 " %s\n", findings, findings == 1 ? "finding" : "findings",
	       notes, notes == 1 ? "note" : "notes");
}

static json_t *
json_result(const struct doctor_result *result)
{
	json_t *object = need(json_object());

	json_put(object, "check", json_text(result->check));
	json_put(object, "level", json_text(level_names[result->level]));
	json_put(object, "what", json_text(result->what));
	json_put(object, "why", result->why ? json_text(result->why) : json_null());
	json_put(object, "fix", result->fix[0] ? json_text(result->fix) : json_null());
	return object;
}

static void
write_json(const struct doctor *doctor)
{
	json_t *root = need(json_object()), *checks = need(json_array());

	json_put(root, "segment", json_text(doctor->name));
	json_put(root, "findings", json_count(count_level(doctor, DOCTOR_FINDING)));
	json_put(root, "checks", checks);
	for (size_t i = 0; i < doctor->count; i++)
		json_push(checks, json_result(&doctor->results[i]));
	output_json(root);
}

static void
open_patient(struct doctor *doctor)
{
	struct rl_options options = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};

	rl_place(doctor->name, &options, &doctor->place);
	doctor->error = rl_open(doctor->name, &options, &doctor->rl);
	if (doctor->error < 0) {
		doctor->rl = NULL;
		return;
	}
	rl_info(doctor->rl, &doctor->info);
	doctor->now_ns = rl_now(doctor->rl);
}

static void
run_checks(struct doctor *doctor)
{
	for (const struct doctor_check *check = doctor_checks; check->name; check++) {
		doctor->check = check->name;
		if (check->needs_segment && !doctor->rl)
			doctor_say(doctor, DOCTOR_SKIPPED, NULL, "there is no segment to look at");
		else
			check->run(doctor);
	}
}

int
run_doctor(const struct context *context)
{
	struct doctor doctor = {.name = segment_name(context)};
	int status;

	if (!doctor.name)
		return EXIT_TROUBLE;
	open_patient(&doctor);
	if (doctor.error == -EINVAL) {
		complain("segment '%s': %s", doctor.name, error_text(doctor.error).text);
		return EXIT_TROUBLE;
	}
	run_checks(&doctor);
	if (option_value(context, "json"))
		write_json(&doctor);
	else
		write_text(&doctor);
	status = count_level(&doctor, DOCTOR_FINDING) > 0 ? EXIT_NO : EXIT_YES;
	free(doctor.results);
	rl_close(doctor.rl);
	return status;
}
