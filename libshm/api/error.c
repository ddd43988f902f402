/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "rl.h"

static const struct {
	int error;
	const char *text;
} texts[] = {
	{0, "success"},
	{RL_EFOREIGN, "not an rl segment (something else has its name)"},
	{RL_EVERSION, "segment of another rl version or build"},
	{RL_ETRUNCATED, "segment file is truncated"},
	{RL_EDAMAGED, "segment header is damaged"},
	{RL_EBOOT, "segment is from another boot"},
	{RL_ECLOCK,
         "segment is of another time namespace, and by how much its clock differs is unknown"},
	{RL_EOWNER, "segment belongs to a user who is not trusted (a group is if it is asked for)"},
	{RL_EPUBLIC, "segment is open to everybody, and so is its hash key"},
	{RL_EDIRECTORY,
         "no permission for /dev/shm/rl, where segments are made: join the group it belongs to"},
	{RL_ETWICE, "two segments have this name, one in /dev/shm/rl and one in /dev/shm"},
	{RL_EMOUNT, "/dev/shm is mounted read-only: nothing can be made or counted there"},
	{RL_EMEMORY, "segment needs more memory than its control group or the machine has left"},
	{RL_ECREATE, "cannot create a segment here (no /dev/shm, or no /proc)"},
	{RL_ERING,
         "more sub-buckets than the segment's `ring`, or a log of more than half of it: ask for a "
         "longer `ring`, or 'rlctl resize --ring N'; 'rlctl doctor' says N"},
	{RL_EADDRESS, "not an IP address or network"},
	{RL_EREMOVED, "the configuration has this rule no longer"},
	{RL_EEMPTY, "the key is empty"},
	{RL_ELESS, "the segment is there, and is or holds less than was asked for"},
	{-EEXIST, "the name is a rule's, or that of a space of counters"},
	{RL_ECOST, "deciding this would cost more than it may: the segment is damaged"},
	{RL_EDEFINED, "an application has defined the rule with other limits, and they stay"},
	{RL_ECLUSTER, "the segment was not made for a cluster: make it with `cluster`"},
	{RL_ECHARGES, "the rule limits what is in flight: a request needs a place for its charges"},
	{RL_EKEYS, "more keys are counted now than that many find room"},
	{RL_EMOVING, "keys are still moving to the table of an earlier resize"},
	{RL_ERULES, "no room for another rule: make the segment with more `rules`"},
	{RL_ELIMITS,
         "no room for another limit, 16 for each of `rules`: make the segment with more"},
	{RL_EOVERRIDES, "no room for as many overrides: make the segment with more `overrides`"},
	{RL_EBANS, "no room for another ban or exemption: make the segment with more `bans`"},
	{-ENOSPC, "no room for another key (make the segment with more `keys`) or holder (more "
                  "`holders`, a longer `ring`), or in /dev/shm"},
	{-ENOENT, "no such segment, rule or key"},
	{-EINVAL, "invalid name, handle or value"},
	{-ENAMETOOLONG, "key is longer than 4096 bytes"},
	{-EROFS, "segment is open for reading only"},
	{-EBUSY, "others changed the counter too fast for too long"},
};

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
	const char *text;

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].error == error)
			return texts[i].text;
	text = error < 0 && error > -4096 ? system_text(-error) : NULL;
	return text ? text : "unknown error";
}
