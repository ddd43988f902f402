/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include "rl.h"

#define NAME_PREFIX "rl."

bool
rl_names_shm(const char *name, char path[static NAME_MAX])
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len;

	if (!name)
		name = "default";
	len = strlen(name);
	if (len == 0 || len > RL_NAME_MAX || strspn(name, good) != len)
		return false;
	snprintf(path, NAME_MAX, "/" NAME_PREFIX "%s", name);
	return true;
}
