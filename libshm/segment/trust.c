/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/trust.h"

#include <unistd.h>

bool
rl_trust_owner(const struct stat *file, const struct rl_options *o)
{
	if (file->st_uid == 0 || file->st_uid == geteuid())
		return true;
	return (o->flags & RL_OPEN_GROUP) && file->st_gid == o->group && !(file->st_mode & S_IWOTH);
}

/* A reader knows the hash key, and can choose keys that collide. */
bool
rl_trust_mode(const struct stat *file, const struct rl_options *o)
{
	const mode_t everybody = S_IROTH | S_IWOTH;

	return !(file->st_mode & everybody & ~o->mode);
}
