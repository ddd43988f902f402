/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <rl_admin.h>
#include <rl_http.h>
#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = {"allowed", "denied", "never", "undecided", NULL};
static const char *const reasons[] = {"limit", "ban", "exemption", "reserve", "share", NULL};
static const char *const ends[] = {"found", "listed", "no_address", "far", NULL};
const char *const rlb_matches[] = {"key", "prefix", "network", NULL};

/* With the sign of a system's error, which is not part of its name. */
static const struct {
	int error;
	const char *name;
} errors[] = {
#define RL_ERROR(number, token, sentence, remedy) {number, #number},
#include <rl_errors.def>
#undef RL_ERROR
	{-EBADF, "-EBADF"},
};

static const char *
name_of(const char *const *names, int most, int number)
{
	return names[number < 0 || number > most ? most : number];
}

const char *
rlb_verdict(int verdict)
{
	return name_of(verdicts, RL_UNDECIDED, verdict);
}

const char *
rlb_reason(int reason)
{
	return reason < 0 || reason > RL_BY_SHARE ? reasons[0] : reasons[reason];
}

const char *
rlb_match(int match)
{
	return name_of(rlb_matches, RL_MATCH_NETWORK, match);
}

const char *
rlb_client_end(int end)
{
	return name_of(ends, RL_HTTP_CLIENT_FAR, end);
}

const char *
rlb_error(int error, char text[RLB_ERROR_SIZE])
{
	if (error > 0)
		error = -error;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (errors[i].error == error)
			return errors[i].name + (errors[i].name[0] == '-');
	snprintf(text, RLB_ERROR_SIZE, "E%d", -error);
	return text;
}

const char *
rlb_why(int error, char text[RLB_WHY_SIZE])
{
	const char *remedy = rl_error_remedy(error);

	snprintf(text, RLB_WHY_SIZE, "%s%s%s", rl_strerror(error), remedy[0] ? ": " : "", remedy);
	return text;
}

int
rlb_word(const char *const *words, const char *word, unsigned long len)
{
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return i;
	return -EINVAL;
}
