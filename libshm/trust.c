/* SPDX-License-Identifier: BSD-2-Clause */
#include "trust.h"

#include <limits.h>
#include <unistd.h>

bool
rl_trust_is_trusted(const struct stat *file)
{
	gid_t groups[NGROUPS_MAX];
	int count;

	if (file->st_uid == 0 || file->st_uid == geteuid())
		return true;
	if (file->st_mode & S_IWOTH)
		return false;
	count = getgroups(NGROUPS_MAX, groups);
	for (int i = 0; i < count; i++)
		if (groups[i] == file->st_gid)
			return true;
	return file->st_gid == getegid();
}
