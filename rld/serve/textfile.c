/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/textfile.h"

#include <errno.h>
#include <string.h>
#include <text/file.h>

#include "base/log.h"

int
textfile_open(struct textfile *t, const char *path)
{
	int error = path ? new_file_check(path) : 0;

	*t = (struct textfile){.path = path};
	if (error == 0)
		return 0;
	log_line(LOG_ERR, "--metrics-textfile %s: %s%s", path,
	         error == -EINVAL ? "exists and " : "", new_file_strerror(error));
	return -1;
}

int
textfile_write(struct textfile *t, const char *text, size_t size)
{
	struct new_file file;
	int error = new_file_create(&file, t->path, 0644);

	if (error < 0)
		return error;
	error = file_write(file.fd, text, size);
	if (error < 0)
		new_file_abandon(&file);
	else
		error = new_file_commit(&file, false, &t->made);
	return error;
}

void
textfile_remove(const struct textfile *t)
{
	if (t->made.st_nlink > 0)
		file_remove_made(t->path, &t->made);
}
