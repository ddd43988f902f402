/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "segment/trust.h"

#define NAME_PREFIX "rl."

const char *rl_path_own = "/dev/shm/rl";

static bool
is_name(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len;
}

static struct rl_path
path_in(const char *directory, const char *name)
{
	struct rl_path path = {.directory = directory};

	snprintf(path.text, sizeof path.text, "%s/" NAME_PREFIX "%s", directory, name);
	return path;
}

/* One that a stranger has planted, or may write, is as if it were not there. */
static bool
has_own(void)
{
	struct stat file;

	return rl_path_own && lstat(rl_path_own, &file) == 0 && S_ISDIR(file.st_mode) &&
	       file.st_uid == 0 && !(file.st_mode & S_IWOTH);
}

bool
rl_path_is_own(const struct rl_path *path)
{
	return path->directory == rl_path_own;
}

/* The public file, if it means anything to who opens it so. */
static bool
public_counts(const struct rl_path *path, const struct rl_options *o, bool is_in_own)
{
	const unsigned only_looks = RL_OPEN_READONLY | RL_OPEN_EXISTING | RL_OPEN_ANY_OWNER;
	struct stat file;

	if (lstat(path->text, &file) < 0)
		return false;
	return rl_trust_owner(&file, o) || (!is_in_own && (o->flags & only_looks));
}

int
rl_path_find(const char *name, const struct rl_options *o, struct rl_path *path)
{
	struct rl_path public;
	struct stat file;
	bool is_in_own;

	if (!is_name(name))
		return -EINVAL;
	public = path_in(RL_PATH_PUBLIC, name);
	*path = has_own() ? path_in(rl_path_own, name) : public;
	if (!rl_path_is_own(path))
		return 0;
	is_in_own = lstat(path->text, &file) == 0;
	if (!public_counts(&public, o, is_in_own))
		return 0;
	if (is_in_own)
		return RL_ETWICE;
	*path = public;
	return 0;
}
