/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep/counters_file.h"

#include <edit/new_file.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <text/file.h>
#include <unistd.h>

#include "base/log.h"
#include "keep/counters_text.h"
#include "text/error_text.h"

static void
report_restored(const char *path, const struct counters_restored *restored)
{
	log_line(LOG_NOTICE,
	         "%s: %" PRIu64 " counters restored, %" PRIu64 " are over, %" PRIu64
	         " have no rule or limit any more",
	         path, restored->restored, restored->expired, restored->homeless);
	if (restored->in_cells > 0)
		log_line(LOG_NOTICE,
		         "%s: %" PRIu64
		         " of those restored went into overflow counters, for the table is full",
		         path, restored->in_cells);
	if (restored->failed > 0)
		log_line(LOG_WARNING, "%s: %" PRIu64 " counters are not restored: %s", path,
		         restored->failed, error_text(restored->error).text);
	if (restored->unkept > 0)
		log_line(LOG_WARNING,
		         "%s: has nothing of %" PRIu64 " further counters: their names were not "
		         "whole, or it would have been too long",
		         path, restored->unkept);
}

static int
take_text(const char *path, struct rl *rl, const char *text, size_t len)
{
	struct counters_restored restored;
	struct rl_info info;
	uint64_t created_ns;

	switch (counters_text_check(text, len, &created_ns)) {
	case COUNTERS_FOREIGN:
		log_line(LOG_ERR, "--counters-file %s: is no file of counters that this rld wrote",
		         path);
		return -1;
	case COUNTERS_DAMAGED:
		log_line(LOG_ERR, "%s: is damaged or cut short: no counter is restored", path);
		return 0;
	case COUNTERS_GOOD:
		break;
	}
	rl_info(rl, &info);
	if (info.created_ns == created_ns)
		return 0;
	restored = counters_text_restore(rl, text, len);
	report_restored(path, &restored);
	return 0;
}

int
counters_file_open(struct counters_file *file, const char *path, struct rl *rl)
{
	int error = path ? new_file_check(path) : 0, status;
	char *text = NULL;
	size_t len = 0;

	*file = (struct counters_file){.path = path};
	if (!path)
		return 0;
	if (error == 0)
		error = file_read(path, COUNTERS_FILE_MOST, &text, &len);
	if (error == -ENOENT)
		return 0;
	if (error < 0) {
		log_line(LOG_ERR, "--counters-file %s: %s", path, new_file_strerror(error));
		return -1;
	}
	status = take_text(path, rl, text, len);
	free(text);
	return status;
}

/* Its descriptor is closed either way. */
static int
write_text(const struct new_file *file, struct rl *rl, struct counters_written *written)
{
	int fd = dup(file->fd);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool is_whole;

	if (!out) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	errno = 0;
	is_whole = counters_text_write(out, rl, COUNTERS_FILE_MOST - 128, written);
	if (fclose(out) == 0 && is_whole)
		return 0;
	return errno > 0 ? -errno : -ENOMEM;
}

static int
write_file(const char *path, struct rl *rl, struct counters_written *written)
{
	struct new_file file;
	int error = new_file_create(&file, path, 0600);

	if (error < 0)
		return error;
	return new_file_end(&file, write_text(&file, rl, written), true, NULL);
}

void
counters_file_write(const struct counters_file *file, struct rl *rl)
{
	struct counters_written written;
	int error;

	if (!file->path)
		return;
	error = write_file(file->path, rl, &written);
	if (error < 0)
		log_line(LOG_WARNING, "--counters-file %s: %s; what is there is old", file->path,
		         new_file_strerror(error));
	else
		log_line(LOG_DEBUG, "%s: %" PRIu64 " counters written, %" PRIu64 " left out",
		         file->path, written.keys, written.unkept);
}

/* Whatever befalls it, what rld has made stays; and it does not outlive rld. */
static _Noreturn void
write_as_child(const struct counters_file *file, struct rl *rl, pid_t parent)
{
	signal(SIGBUS, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
		counters_file_write(file, rl);
	_exit(0);
}

static void
report_end(const struct counters_file *file, int status)
{
	if (!WIFEXITED(status))
		log_line(LOG_WARNING, "--counters-file %s: who wrote it was killed by signal %d",
		         file->path, WTERMSIG(status));
}

void
counters_file_run(struct counters_file *file, struct rl *rl, uint64_t now_ns)
{
	pid_t parent = getpid();
	int status;

	if (file->writer > 0 && waitpid(file->writer, &status, WNOHANG) == file->writer) {
		report_end(file, status);
		file->writer = 0;
	}
	if (!file->path || file->writer > 0 || now_ns < file->due_ns)
		return;
	file->due_ns = now_ns + COUNTERS_FILE_EVERY_NS;
	file->writer = fork();
	if (file->writer == 0)
		write_as_child(file, rl, parent);
	if (file->writer > 0)
		return;
	log_line(LOG_WARNING, "--counters-file %s: %s; what is there is old", file->path,
	         strerror(errno));
	file->writer = 0;
}

void
counters_file_close(struct counters_file *file)
{
	int status;

	if (file->writer > 0 && waitpid(file->writer, &status, 0) == file->writer)
		report_end(file, status);
	file->writer = 0;
}
