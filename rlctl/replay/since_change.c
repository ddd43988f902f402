/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/since_change.h"

#include <edit/history.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/output.h"
#include "config/version_config.h"

/* NULL after a message: a version is what somebody once wrote, and may be none by now. */
static struct config *
read_version(const char *path, const struct version *version)
{
	struct config *config = version_config(path, version);

	if (!config)
		complain("--since-change: version %" PRIu32 " of %s is no configuration",
		         version->number, path);
	return config;
}

/* The place of a version that has one before it; 0: none such, after a message. */
static size_t
find(const struct history *history, uint64_t number, const char *path)
{
	for (size_t i = 0; i < history->count; i++)
		if (history->at[i].number == number && i > 0)
			return i;
	complain("--since-change: of a change %" PRIu64 " of %s what was before is not kept; "
	         "'rlctl config history' lists them",
	         number, path);
	return 0;
}

static bool
read_both(const char *path, uint64_t number, struct since_change *change)
{
	struct history history;
	int error = history_read(path, &history);
	size_t at = error < 0 ? 0 : find(&history, number, path);

	if (error < 0)
		complain("%s: its history: %s", path, strerror(-error));
	if (at > 0) {
		change->at_ns = history.at[at].at_s * RL_SECOND;
		change->before = read_version(path, &history.at[at - 1]);
		change->after = change->before ? read_version(path, &history.at[at]) : NULL;
	}
	history_free(&history);
	return change->after != NULL;
}

bool
since_change_read(const struct context *context, struct since_change *change)
{
	const char *path = config_path(option_value(context, "config"));
	uint64_t number;
	char *real;
	bool is_read;

	*change = (struct since_change){.text = option_value(context, "since-change")};
	if (!change->text)
		return true;
	if (!number_need("--since-change", change->text, 1, UINT32_MAX, &number))
		return false;
	real = realpath(path, NULL);
	if (!real)
		complain("%s: %s", path, strerror(errno));
	is_read = real && read_both(real, number, change);
	free(real);
	return is_read;
}

void
since_change_free(struct since_change *change)
{
	config_free(change->before);
	config_free(change->after);
}
