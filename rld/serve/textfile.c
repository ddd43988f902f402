/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/textfile.h"

#include <errno.h>
#include <string.h>

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
	return new_file_put(t->path, 0644, text, size, false, &t->made);
}

void
textfile_remove(const struct textfile *t)
{
	if (t->made.st_nlink > 0)
		file_remove_made(t->path, &t->made);
}
