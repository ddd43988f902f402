/* SPDX-License-Identifier: BSD-2-Clause */

#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static bool
fail(const char *path)
{
	complain("%s: %s", path, strerror(errno));
	return false;
}

/* To rename over /dev/null would be a bad surprise. */
static bool
check_target(const char *path)
{
	struct stat file;

	if (stat(path, &file) < 0 || S_ISREG(file.st_mode))
		return true;
	complain("%s: exists and is no regular file; use - for standard output", path);
	return false;
}

static bool
open_temporary(struct atomic_file *out)
{
	int fd;

	if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0)
		need(NULL);
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd < 0) {
		fail(out->path);
		free(out->temporary);
		return false;
	}
	out->file = need(fdopen(fd, "w"));
	return true;
}

bool
atomic_file_open(const char *path, struct atomic_file *out)
{
	*out = (struct atomic_file){.path = path, .file = stdout};
	return strcmp(path, "-") == 0 || (check_target(path) && open_temporary(out));
}

/* A rename lasts once its directory is on the disk. */
static bool
sync_directory(const char *path)
{
	char *copy = need(strdup(path));
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_synced = fd >= 0 && fsync(fd) == 0;

	free(copy);
	if (fd >= 0)
		close(fd);
	return is_synced;
}

static bool
write_out(FILE *file)
{
	return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

static bool
finish(struct atomic_file *out)
{
	bool is_written = write_out(out->file);
	int error = errno;

	if (fclose(out->file) != 0 && is_written) {
		error = errno;
		is_written = false;
	}
	out->file = NULL;
	errno = error;
	return is_written && rename(out->temporary, out->path) == 0 && sync_directory(out->path);
}

bool
atomic_file_commit(struct atomic_file *out)
{
	bool is_done;

	if (!out->temporary)
		return true; /* output_finish() looks at standard output */
	errno = 0;
	is_done = finish(out);
	if (!is_done) {
		complain("%s: %s", out->path, errno ? strerror(errno) : "output was lost");
		atomic_file_abandon(out);
	} else {
		free(out->temporary);
	}
	return is_done;
}

void
atomic_file_abandon(struct atomic_file *out)
{
	if (!out->temporary)
		return;
	if (out->file)
		fclose(out->file);
	unlink(out->temporary);
	free(out->temporary);
	out->temporary = NULL;
}
