/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All of it is the kernel's, and as long as others make it: nobody waits for more than this. */
#define LINE_BYTES 8192
#define LINES_MAX 20000
#define MOUNTS_MAX 16
#define HIDDEN_MAX 16
#define DIRECTORIES_MAX 4096

struct mount {
	char *top; /* path of the group that is mounted */
	char *point;
	bool is_v2;
};

/* A directory of `hidden` names below another is looked for. */
struct search {
	char path[PATH_MAX];
	const char *below; /* what the path goes on with behind the names */
	int directories;   /* that may still be looked at */
};

/* O_NONBLOCK: whatever has this name must not hold us up. */
static FILE *
open_lines(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* A line without its end. One that does not fit is empty. */
static bool
read_line(FILE *file, char line[static LINE_BYTES])
{
	size_t len;
	int c = 0;

	if (!fgets(line, LINE_BYTES, file))
		return false;
	len = strcspn(line, "\n");
	if (line[len] == '\0' && !feof(file)) {
		while (c != '\n' && c != EOF)
			c = getc(file);
		len = 0;
	}
	line[len] = '\0';
	return true;
}

static bool
is_octal(const char *at, char last)
{
	return *at >= '0' && *at <= last;
}

/* "\040" is a space. */
static void
unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		if (at[0] == '\\' && is_octal(at + 1, '3') && is_octal(at + 2, '7') &&
		    is_octal(at + 3, '7')) {
			*to = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static bool
has_word(char *words, const char *wanted)
{
	const char *word;

	while ((word = strsep(&words, ",")))
		if (strcmp(word, wanted) == 0)
			return true;
	return false;
}

/*
 * "35 31 0:32 TOP POINT rw shared:1 - TYPE SOURCE OPTIONS", with any number of fields like
 * "shared:1". The line is cut to pieces. False if it is no mount of control groups.
 */
static bool
parse(char *line, struct mount *mount)
{
	char *field[6] = {0}, *word = line, *type;

	for (size_t i = 0; i < 6; i++)
		field[i] = strsep(&line, " ");
	while (word && strcmp(word, "-") != 0)
		word = strsep(&line, " ");
	type = strsep(&line, " ");
	strsep(&line, " ");
	if (!type || !line || field[3][0] != '/' || field[4][0] != '/')
		return false;
	mount->top = field[3];
	mount->point = field[4];
	unescape(mount->top);
	unescape(mount->point);
	mount->is_v2 = strcmp(type, "cgroup2") == 0;
	return mount->is_v2 || (strcmp(type, "cgroup") == 0 && has_word(line, "memory"));
}

static bool
is_up(const char *name)
{
	return strncmp(name, "..", 2) == 0 && (name[2] == '/' || name[2] == '\0');
}

/* The name behind this one. */
static const char *
next_name(const char *at)
{
	at += strcspn(at, "/");
	return at + strspn(at, "/");
}

static bool
is_same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "/");

	return len > 0 && strcspn(b, "/") == len && strncmp(a, b, len) == 0;
}

static bool
goes_up(const char *path)
{
	while (*path && !is_up(path))
		path = next_name(path);
	return *path != '\0';
}

/* What of `path` is below `top`, behind so many names that are hidden; NULL if it is elsewhere. */
static const char *
path_below(const char *top, const char *path, int *hidden)
{
	top += strspn(top, "/");
	path += strspn(path, "/");
	while (is_same_name(top, path)) {
		top = next_name(top);
		path = next_name(path);
	}
	for (*hidden = 0; is_up(top); ++*hidden)
		top = next_name(top);
	return *top || goes_up(path) || *hidden > HIDDEN_MAX ? NULL : path;
}

/* Behind the first `len` bytes of the path; false if it is too long. */
static bool
append(char path[static PATH_MAX], size_t len, const char *name)
{
	int added = snprintf(path + len, PATH_MAX - len, *name ? "/%s" : "%s", name);

	return added >= 0 && (size_t)added < PATH_MAX - len;
}

/* Is this process in that group? */
static bool
has_me(const char *group)
{
	char path[PATH_MAX + 16], line[LINE_BYTES];
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof path, "%s/cgroup.procs", group);
	file = open_lines(path);
	if (!file)
		return false;
	while (!is_found && read_line(file, line))
		is_found = strtol(line, NULL, 10) == (long)getpid();
	fclose(file);
	return is_found;
}

static bool
is_child(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

/* Leaves the group's directory in s->path, if it is there. */
static bool
search(struct search *s, int hidden)
{
	const size_t len = strlen(s->path);
	const struct dirent *entry;
	bool is_found = false;
	DIR *directory;

	if (s->directories-- <= 0)
		return false;
	if (hidden == 0)
		return append(s->path, len, s->below) && has_me(s->path);
	directory = opendir(s->path);
	if (!directory)
		return false;
	while (!is_found && (entry = readdir(directory))) {
		if (is_child(entry) && append(s->path, len, entry->d_name))
			is_found = search(s, hidden - 1);
		if (!is_found)
			s->path[len] = '\0';
	}
	closedir(directory);
	return is_found;
}

/* False if the group is not below this mount. */
static bool
visit_mount(const char *root, const struct mount *mount, const char *path, rl_cgroup_visit *visit,
            void *arg)
{
	struct search s = {.directories = DIRECTORIES_MAX};
	int hidden, len;

	s.below = path_below(mount->top, path, &hidden);
	len = snprintf(s.path, sizeof s.path, "%s%s", root, mount->point);
	if (!s.below || len < 0 || len >= (int)sizeof s.path)
		return false;
	if (hidden > 0 ? !search(&s, hidden) : !append(s.path, (size_t)len, s.below))
		s.path[len] = '\0';
	visit(s.path, (size_t)len, arg);
	return true;
}

int
rl_cgroup_find(const char *root, bool is_v2, const char *path, rl_cgroup_visit *visit, void *arg)
{
	char name[PATH_MAX], line[LINE_BYTES];
	struct mount mount;
	int found = 0;
	FILE *file;

	snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
	file = open_lines(name);
	if (!file)
		return 0;
	for (int i = 0; i < LINES_MAX && found < MOUNTS_MAX && read_line(file, line); i++)
		if (parse(line, &mount) && mount.is_v2 == is_v2)
			found += visit_mount(root, &mount, path, visit, arg);
	fclose(file);
	return found;
}
