/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "rl.h"

struct text {
	int error;
	const char *token, *sentence, *remedy;
};

static const struct text texts[] = {
#define RL_ERROR(...) {__VA_ARGS__},
#include "rl_errors.def"
#undef RL_ERROR
};

static const struct text *
find(int error)
{
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].error == error)
			return &texts[i];
	return NULL;
}

/* In no locale: of glibc by a call of its own; musl has one language. */
static const char *
system_text(int error)
{
#ifdef __GLIBC__
	return strerrordesc_np(error);
#else
	return strerror(error);
#endif
}

const char *
rl_strerror(int error)
{
	const struct text *found = find(error);
	const char *text = found ? found->sentence : NULL;

	if (!found && error < 0 && error > -4096)
		text = system_text(-error);
	return text ? text : "unknown error";
}

const char *
rl_error_name(int error)
{
	const struct text *found = find(error);

	return found ? found->token : "unknown";
}

const char *
rl_error_remedy(int error)
{
	const struct text *found = find(error);

	return found ? found->remedy : "";
}
