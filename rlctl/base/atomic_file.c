/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"

bool
atomic_file_open(const char *path, struct atomic_file *out)
{
	int error;

	*out = (struct atomic_file){.path = path, .file = stdout};
	if (strcmp(path, "-") == 0)
		return true;
	error = new_file_create(&out->made, path, 0600);
	if (error == -EINVAL)
		complain("%s: exists and is no regular file; use - for standard output", path);
	else if (error < 0)
		complain("%s: %s", path, new_file_strerror(error));
	else
		out->file = need(fdopen(fcntl(out->made.fd, F_DUPFD_CLOEXEC, 0), "w"));
	return error == 0;
}

static int
finish(struct atomic_file *out)
{
	bool is_written;

	errno = 0;
	is_written = fflush(out->file) == 0 && !ferror(out->file);
	is_written = fclose(out->file) == 0 && is_written;
	out->file = NULL;
	if (is_written)
		return new_file_commit(&out->made, true, NULL);
	return errno ? -errno : -EIO;
}

bool
atomic_file_commit(struct atomic_file *out)
{
	int error;

	if (out->file == stdout)
		return true; /* output_finish() looks at standard output */
	error = finish(out);
	if (error == 0)
		return true;
	complain("%s: %s", out->path, new_file_strerror(error));
	atomic_file_abandon(out);
	return false;
}

void
atomic_file_abandon(struct atomic_file *out)
{
	if (out->file == stdout)
		return;
	if (out->file)
		fclose(out->file);
	out->file = NULL;
	new_file_abandon(&out->made);
}
