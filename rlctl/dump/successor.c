/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/complain.h"
#include "base/user.h"
#include "text/error_text.h"

#define SUFFIX ".upgrading"

/* One that is as long as a name can be gives way to the suffix. */
static void
name_beside(struct successor *s)
{
	int room = RL_NAME_MAX - (int)strlen(SUFFIX);

	snprintf(s->beside, sizeof(s->beside), "%.*s" SUFFIX, room, s->name);
}

static bool
find_old(struct successor *s)
{
	const struct rl_options anybody = {.flags = RL_OPEN_ANY_OWNER};
	struct rl_place place;
	int error = rl_place(s->name, &anybody, &place);

	if (error == 0 && lstat(place.path, &s->old) < 0)
		error = -errno;
	if (error < 0) {
		complain("segment '%s': %s", s->name, error_text(error).text);
		return false;
	}
	snprintf(s->path, sizeof(s->path), "%s", place.path);
	return true;
}

/*
 * For good; with the file's group, and those that the user has: one of them may write the
 * directory.
 */
static bool
become(uid_t user, gid_t group)
{
	const struct passwd *known = getpwuid(user);
	int error = known ? initgroups(known->pw_name, known->pw_gid) : setgroups(0, NULL);

	return error == 0 && setresgid(group, group, group) == 0 &&
	       setresuid(user, user, user) == 0;
}

static bool
become_owner(const struct successor *s)
{
	if (geteuid() == s->old.st_uid)
		return true;
	if (geteuid() != 0)
		complain("segment '%s' is %s's: run this as that user, or as root", s->name,
		         user_format(s->old.st_uid).text);
	else if (!become(s->old.st_uid, s->old.st_gid))
		complain("cannot become %s, whose segment '%s' is: %s",
		         user_format(s->old.st_uid).text, s->name, strerror(errno));
	else
		return true;
	return false;
}

/* Whether the name is the old one's still. */
static bool
is_same(const struct successor *s)
{
	struct stat now;

	return lstat(s->path, &now) == 0 && now.st_dev == s->old.st_dev &&
	       now.st_ino == s->old.st_ino;
}

static bool
lock_old(struct successor *s)
{
	struct stat opened;

	s->fd = open(s->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		complain("%s: %s", s->path, strerror(errno));
	else if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		complain("segment '%s': another upgrade of it is under way", s->name);
	else if (fstat(s->fd, &opened) < 0 || opened.st_ino != s->old.st_ino || !is_same(s))
		complain("segment '%s' has just been replaced", s->name);
	else
		return true;
	return false;
}

bool
successor_begin(struct successor *s, const char *name)
{
	*s = (struct successor){.name = name, .fd = -1};
	name_beside(s);
	return find_old(s) && become_owner(s) && lock_old(s);
}

bool
successor_make(struct successor *s, const struct rl_options *options)
{
	struct rl_options o = *options;
	int error = rl_unlink(s->beside); /* whose maker was killed */

	o.mode = s->old.st_mode & 0777;
	o.group = s->old.st_gid;
	o.flags |= RL_OPEN_GROUP;
	if (error == 0 || error == -ENOENT)
		error = rl_open(s->beside, &o, &s->rl);
	if (error < 0) {
		s->rl = NULL;
		complain("segment '%s', to be made beside '%s': %s", s->beside, s->name,
		         error_text(error).text);
	}
	return error == 0;
}

bool
successor_commit(struct successor *s)
{
	const struct rl_options mine = {.flags = 0};
	struct rl_place place;
	int error = rl_place(s->beside, &mine, &place);

	if (error == 0 && !is_same(s))
		error = -ENOENT;
	if (error == 0 && rename(place.path, s->path) < 0)
		error = -errno;
	if (error < 0) {
		complain("segment '%s' cannot be put in the place of the old one: %s", s->name,
		         error_text(error).text);
		return false;
	}
	rl_close(s->rl);
	s->rl = NULL;
	return true;
}

void
successor_end(struct successor *s)
{
	if (s->rl) {
		rl_close(s->rl);
		rl_unlink(s->beside);
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
