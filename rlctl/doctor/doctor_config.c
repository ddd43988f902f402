/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of what the file says against what the segment has, and of other segments beside it. */

#include <apply/apply.h>
#include <inttypes.h>
#include <load/load.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/segment_names.h"
#include "doctor/doctor.h"

/* The first that was told of each kind. */
struct heard {
	char error[200], warning[200], change[200];
	char keys[200], ring[200]; /* warnings of what a resize changes */
	size_t changes;
};

/* Of a live segment's table, which a resize makes as the file says. */
static char *
resizable(struct heard *heard, const char *text)
{
	if (!strstr(text, CONFIG_RESIZE))
		return NULL;
	return strstr(text, "/segment/ring") ? heard->ring : heard->keys;
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	struct heard *heard = arg;
	char *table = level == CONFIG_WARNING ? resizable(heard, text) : NULL;
	char *to = table                     ? table
	           : level == CONFIG_ERROR   ? heard->error
	           : level == CONFIG_WARNING ? heard->warning
	           : level == CONFIG_NOTE    ? heard->change
	                                     : NULL;

	heard->changes += level == CONFIG_NOTE;
	if (to && !to[0])
		snprintf(to, sizeof(heard->error), "%s", text);
}

static void
say_bad(struct doctor *doctor, const char *path, const struct heard *heard)
{
	doctor_say(
		doctor, DOCTOR_FINDING,
		"the old limits stay in force; but no reload succeeds, and after a reboot rld does "
		"not start",
		"%s", heard->error[0] ? heard->error : path);
	doctor_fix(doctor,
	           "rlctl config check %s; rlctl config undo --config %s takes the last "
	           "change back",
	           path, path);
}

static void
say_differs(struct doctor *doctor, const char *path, const struct heard *heard)
{
	doctor_say(
		doctor, DOCTOR_FINDING,
		"the file was changed and is not in force, or something else was put into force: "
		"the next reload or start of rld changes the limits",
		"%s is not what is in force: %s%s", path, heard->change,
		heard->changes > 1 ? ", and more" : "");
	doctor_fix(doctor,
	           "rlctl --segment %s config diff --config %s; rlctl --segment %s config reload "
	           "--config %s",
	           doctor->name, path, doctor->name, path);
}

/* To make the segment anew would undo a resize, and lose what is counted meanwhile. */
static void
say_size(struct doctor *doctor, const struct config *config, const char *path,
         const struct heard *heard)
{
	char keys[32] = "", ring[32] = "";

	if (heard->keys[0])
		snprintf(keys, sizeof(keys), " --keys %" PRIu64, (uint64_t)config->options.keys);
	if (heard->ring[0])
		snprintf(ring, sizeof(ring), " --ring %" PRIu32, config->options.ring);
	doctor_say(doctor, DOCTOR_NOTE,
	           "the segment was given another table since; when it is made again, as after a "
	           "reboot, it has what the file says",
	           "%s", heard->keys[0] ? heard->keys : heard->ring);
	doctor_fix(doctor,
	           "rlctl --segment %s resize%s%s takes the file's; or else write the segment's "
	           "into %s",
	           doctor->name, keys, ring, path);
}

static void
compare(struct doctor *doctor, const struct config *config, const char *path)
{
	struct rl_config_outcome outcome = {0};
	struct heard heard = {0};
	int error = config_apply(doctor->rl, config, RL_CONFIGURE_DRY, &outcome, hear, &heard);

	if (error < 0)
		say_bad(doctor, path, &heard);
	else if (outcome.is_changed)
		say_differs(doctor, path, &heard);
	if (error == 0 && heard.warning[0]) {
		doctor_say(
			doctor, DOCTOR_NOTE,
			"what the file says of the segment counts when it is made, and not before",
			"%s", heard.warning);
		doctor_fix(doctor, DOCTOR_RECREATE, doctor->name, doctor->name, "", doctor->name);
	}
	if (error == 0 && (heard.keys[0] || heard.ring[0]))
		say_size(doctor, config, path, &heard);
	else if (error == 0 && !heard.warning[0] && !outcome.is_changed)
		doctor_say(doctor, DOCTOR_OK, NULL, "%s is what is in force", path);
}

void
check_configuration(struct doctor *doctor)
{
	const char *path = config_path(NULL);
	struct heard heard = {0};
	struct config *config;

	if (access(path, F_OK) < 0) {
		doctor_say(doctor, DOCTOR_OK, NULL, "there is no %s: applications define the rules",
		           path);
		return;
	}
	if (access(path, R_OK) < 0) {
		doctor_say(doctor, DOCTOR_SKIPPED, NULL, "this user may not read %s", path);
		return;
	}
	config = config_load(path, hear, &heard);
	if (!config)
		say_bad(doctor, path, &heard);
	else if (strcmp(config->name, doctor->name) != 0)
		doctor_say(doctor, DOCTOR_OK, NULL, "%s is about segment '%s'", path, config->name);
	else
		compare(doctor, config, path);
	config_free(config);
}

void
check_others(struct doctor *doctor)
{
	struct segment_names names = segment_names_find();
	char others[160] = "";
	size_t count = 0;

	for (size_t i = 0; i < names.count; i++) {
		size_t used = strlen(others);

		if (strcmp(names.at[i], doctor->name) == 0)
			continue;
		count++;
		snprintf(others + used, sizeof(others) - used, " %s", names.at[i]);
	}
	segment_names_free(&names);
	if (count == 0) {
		doctor_say(doctor, DOCTOR_OK, NULL, "there is no other segment");
		return;
	}
	doctor_say(doctor, DOCTOR_NOTE,
	           "workers that name another segment count apart, and each has limits of its own",
	           "other segments are here, too:%s", others);
	doctor_fix(doctor, "rlctl segments");
}
