/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/host.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

/* Nothing, or a colon and digits. */
static bool
is_port(const char *text)
{
	return *text == '\0' || (text[0] == ':' && text[1] != '\0' &&
	                         text[1 + strspn(text + 1, "0123456789")] == '\0');
}

bool
host_is(const char *host, const char *name)
{
	return host && strncasecmp(host, name, strlen(name)) == 0 && is_port(host + strlen(name));
}

bool
host_is_this(const char *host)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (host_is(host, names[i]))
			return true;
	return false;
}
