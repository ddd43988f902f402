/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/memory_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "segment/cgroup.h"
#include "shared/lesser.h"

#define UNLIMITED (UINT64_MAX / 4) /* and more: as v1 says that there is no limit */
#define TEXT_BYTES 8192
#define KIB 1024

/* A number that a control group keeps, and what is used of it; by file names. */
struct bound {
	const char *limit, *usage;
	const char *swap_limit, *swap_usage; /* NULL: all of the machine's swap may be used */
	bool has_no_swap;                    /* swap counts as used */
};

struct version {
	const char *mount;     /* where it usually is */
	const char *caches[3]; /* lines of memory.stat, of what can be taken back */
	struct bound bounds[2];
};

static const struct version v2 = {
	.mount = "/sys/fs/cgroup",
	.caches = {"inactive_file ", "active_file ", "slab_reclaimable "},
	.bounds = {{"memory.max", "memory.current", "memory.swap.max", "memory.swap.current", 0}},
};

static const struct version v1 = {
	.mount = "/sys/fs/cgroup/memory",
	.caches = {"total_inactive_file ", "total_active_file "},
	.bounds = {{"memory.limit_in_bytes", "memory.usage_in_bytes", NULL, NULL, 0},
                   {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", NULL, NULL, 1}},
};

struct search {
	const struct version *version;
	uint64_t swap; /* of the machine */
	struct rl_memory *memory;
};

struct text {
	char bytes[TEXT_BYTES];
};

/* As much of the file as fits. O_NONBLOCK: whatever has this name must not hold us up. */
static bool
read_text(const char *path, struct text *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t len = 0;
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && len < sizeof text->bytes - 1) {
		got = read(fd, text->bytes + len, sizeof text->bytes - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	text->bytes[len] = '\0';
	if (fd >= 0)
		close(fd);
	return len > 0;
}

/* Digits, as far as there are any; UINT64_MAX where there is none or too large a number. */
static uint64_t
number_at(const char *at)
{
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return UINT64_MAX;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (value > UNLIMITED / 10)
			return UINT64_MAX;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	return value;
}

/* The number of the line that begins so, or `missing`. */
static uint64_t
field(const struct text *text, const char *begin, uint64_t missing)
{
	const char *line = text->bytes;
	uint64_t value;

	while (line && strncmp(line, begin, strlen(begin)) != 0) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (!line)
		return missing;
	line += strlen(begin);
	value = number_at(line + strspn(line, " \t"));
	return value == UINT64_MAX ? missing : value;
}

/* The number in a file of the group, or `missing`. */
static uint64_t
number_in(const char *group, const char *name, uint64_t missing)
{
	char path[PATH_MAX];
	struct text text;
	uint64_t value;

	if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path ||
	    !read_text(path, &text))
		return missing;
	value = number_at(text.bytes);
	return value == UINT64_MAX ? missing : value;
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t
difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t
caches_of(const char *group, const struct version *version)
{
	char path[PATH_MAX];
	uint64_t caches = 0;
	struct text text;

	if (snprintf(path, sizeof path, "%s/memory.stat", group) >= (int)sizeof path ||
	    !read_text(path, &text))
		return 0;
	for (int i = 0; i < 3 && version->caches[i]; i++)
		caches = sum(caches, field(&text, version->caches[i], 0));
	return caches;
}

static uint64_t
swap_of(const char *group, const struct bound *bound, uint64_t machine)
{
	uint64_t left;

	if (bound->has_no_swap)
		return 0;
	if (!bound->swap_limit)
		return machine;
	left = difference(number_in(group, bound->swap_limit, UINT64_MAX),
	                  number_in(group, bound->swap_usage, 0));
	return rl_lesser_u64(left, machine);
}

static void
note(struct rl_memory *memory, uint64_t left, const char *group, const char *file)
{
	if (left >= memory->left)
		return;
	memory->left = left;
	/* A long one is cut: it is for people. */
	if (snprintf(memory->by, sizeof memory->by, "%s/%s", group, file) < 0)
		memory->by[0] = '\0';
}

static void
inspect_group(const char *group, const struct version *version, uint64_t swap,
              struct rl_memory *memory)
{
	for (int i = 0; i < 2 && version->bounds[i].limit; i++) {
		const struct bound *bound = &version->bounds[i];
		uint64_t limit = number_in(group, bound->limit, UINT64_MAX);
		uint64_t used = number_in(group, bound->usage, 0);

		if (limit >= UNLIMITED)
			continue;
		used = difference(used, caches_of(group, version));
		note(memory, sum(difference(limit, used), swap_of(group, bound, swap)), group,
		     bound->limit);
	}
}

/* The group and those above it, up to the one that is mounted. */
static void
inspect_upwards(char *group, size_t mount, void *arg)
{
	const struct search *search = arg;

	for (size_t len = strlen(group); len >= mount; len--)
		if (len == mount || group[len] == '/' || group[len] == '\0') {
			group[len] = '\0';
			inspect_group(group, search->version, search->swap, search->memory);
		}
}

/*
 * Where the kernel tells of no mount that the group is below, the usual place has to do. A path of
 * another namespace leads nowhere there, or up and out of it; then the mount's own directory is the
 * group that a container has.
 */
static void
inspect_usual_place(const char *root, const char *path, struct search *search)
{
	const char *mount = search->version->mount;
	char group[PATH_MAX];

	if (strstr(path, "/..") || strcmp(path, "/") == 0)
		path = "";
	if (snprintf(group, sizeof group, "%s%s%s", root, mount, path) < (int)sizeof group)
		inspect_upwards(group, strlen(root) + strlen(mount), search);
}

static void
inspect_groups(const char *root, const struct version *version, const char *path, uint64_t swap,
               struct rl_memory *memory)
{
	struct search search = {version, swap, memory};

	if (rl_cgroup_find(root, version == &v2, path, inspect_upwards, &search) == 0)
		inspect_usual_place(root, path, &search);
}

/* "0::/path", or "4:cpu,memory:/path" of v1. The line is cut to pieces. */
static void
inspect_line(const char *root, char *line, uint64_t swap, struct rl_memory *memory)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path || path[1] != '/')
		return;
	*controllers++ = *path++ = '\0';
	if (*controllers == '\0')
		inspect_groups(root, &v2, path, swap, memory);
	for (char *rest, *word = strtok_r(controllers, ",", &rest); word;
	     word = strtok_r(NULL, ",", &rest))
		if (strcmp(word, "memory") == 0)
			inspect_groups(root, &v1, path, swap, memory);
}

/* Note the machine's free memory; returns its swap. */
static uint64_t
inspect_machine(const char *root, struct rl_memory *memory)
{
	char path[PATH_MAX], proc[PATH_MAX];
	uint64_t available, swap;
	struct text text;

	snprintf(proc, sizeof proc, "%s/proc", root);
	snprintf(path, sizeof path, "%s/proc/meminfo", root);
	if (!read_text(path, &text))
		return 0;
	swap = field(&text, "SwapFree:", 0);
	available = field(&text, "MemAvailable:", UINT64_MAX);
	swap = swap < UNLIMITED / KIB ? swap * KIB : UNLIMITED;
	if (available < UNLIMITED / KIB)
		note(memory, sum(available * KIB, swap), proc, "meminfo");
	return swap;
}

void
rl_memory_read(const char *root, struct rl_memory *memory)
{
	char path[PATH_MAX], *rest;
	struct text text;
	uint64_t swap;

	*memory = (struct rl_memory){.left = UINT64_MAX};
	swap = inspect_machine(root, memory);
	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	if (!read_text(path, &text))
		return;
	for (char *line = strtok_r(text.bytes, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		inspect_line(root, line, swap, memory);
}

/* The kernel's own tables of a file's pages are some 0.3 % of it. */
bool
rl_memory_has(const struct rl_memory *memory, uint64_t bytes)
{
	return sum(bytes, bytes / 128) <= memory->left;
}
