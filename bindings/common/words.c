/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <rl.h>
#include <rl_http.h>
#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = {"allowed", "denied", "never", "undecided", NULL};
static const char *const reasons[] = {"limit", "ban", "exemption", "reserve", NULL};
static const char *const ends[] = {"found", "listed", "no_address", "far", NULL};
const char *const rlb_matches[] = {"key", "prefix", "network", NULL};
const char *const rlb_on_full[] = {"reserve", "deny", "allow", "evict", NULL};

#define NAMED(name)         \
	{                   \
		name, #name \
	}
#define ERRNO(name)          \
	{                    \
		-name, #name \
	}

static const struct {
	int error;
	const char *name;
} errors[] = {
	NAMED(RL_EFOREIGN),   NAMED(RL_EVERSION), NAMED(RL_ETRUNCATED), NAMED(RL_EDAMAGED),
	NAMED(RL_EBOOT),      NAMED(RL_ECLOCK),   NAMED(RL_EOWNER),     NAMED(RL_EPUBLIC),
	NAMED(RL_EDIRECTORY), NAMED(RL_ETWICE),   NAMED(RL_EMOUNT),     NAMED(RL_EMEMORY),
	NAMED(RL_ECREATE),    NAMED(RL_ERING),    NAMED(RL_EADDRESS),   NAMED(RL_EREMOVED),
	NAMED(RL_ERULES),     NAMED(RL_ELIMITS),  NAMED(RL_EOVERRIDES), NAMED(RL_EBANS),
	NAMED(RL_EEMPTY),     NAMED(RL_ECOST),    NAMED(RL_ELESS),      NAMED(RL_EDEFINED),
	NAMED(RL_ECLUSTER),   NAMED(RL_EKEYS),    NAMED(RL_EMOVING),    NAMED(RL_ECHARGES),
	ERRNO(EINVAL),        ERRNO(ENOENT),      ERRNO(EACCES),        ERRNO(ENOSPC),
	ERRNO(ENOMEM),        ERRNO(EFBIG),       ERRNO(EPERM),         ERRNO(EMFILE),
	ERRNO(ENFILE),        ERRNO(EIO),         ERRNO(EAGAIN),        ERRNO(EBUSY),
	ERRNO(EEXIST),        ERRNO(EROFS),       ERRNO(ENAMETOOLONG),  ERRNO(EBADF),
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
	return reason < 0 || reason > RL_BY_RESERVE ? reasons[0] : reasons[reason];
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
			return errors[i].name;
	snprintf(text, RLB_ERROR_SIZE, "E%d", -error);
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
