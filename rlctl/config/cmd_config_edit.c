/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config edit: the file in an editor. The editor gets a copy, and the file is replaced only by a
 * text that is valid; the file is locked all the while. Nothing that was typed is ever lost
 * without a question: where there is no one to ask, the copy is kept and named.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <text/file.h>
#include <unistd.h>

#include "base/output.h"
#include "config/config_change.h"

struct session {
	const struct context *context;
	struct locked_file file;
	char *copy; /* its path */
	char *text; /* what the copy says */
	size_t len;
	bool keeps_copy;
};

/* Named .json, by which editors know what it is. */
static bool
make_copy(struct session *session)
{
	const char *directory = secure_getenv("TMPDIR");
	int fd, error;

	if (asprintf(&session->copy, "%s/rl-XXXXXX.json",
	             directory && *directory ? directory : "/tmp") < 0)
		session->copy = NULL;
	need(session->copy);
	fd = mkostemps(session->copy, 5, O_CLOEXEC);
	error = fd < 0 ? -errno : file_write(fd, session->file.text, session->file.len);
	if (fd >= 0)
		close(fd);
	if (error < 0)
		complain("%s: %s", session->copy, strerror(-error));
	return error == 0;
}

static const char *
editor(void)
{
	const char *visual = secure_getenv("VISUAL"), *plain = secure_getenv("EDITOR");

	if (visual && *visual)
		return visual;
	return plain && *plain ? plain : "vi";
}

/* By the shell, for an editor may come with options. Its interrupts are not ours. */
static bool
run_editor(const char *path)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	char *command;
	pid_t child;
	int status = -1;

	if (asprintf(&command, "%s \"$1\"", editor()) < 0)
		command = NULL;
	need(command);
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	child = fork();
	if (child == 0) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		execl("/bin/sh", "sh", "-c", command, "editor", path, (char *)NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	free(command);
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
read_copy(struct session *session)
{
	int error;

	free(session->text);
	error = file_read(session->copy, CONFIG_BYTES_MAX, &session->text, &session->len);
	if (error < 0)
		complain("%s: %s", session->copy, strerror(-error));
	return error == 0;
}

static bool
is_unchanged(const struct session *session)
{
	return session->len == session->file.len &&
	       memcmp(session->text, session->file.text, session->len) == 0;
}

/* Ask what to do with a text that is none: 'e', 'd' or 'k'. Without a terminal, 'k'. */
static int
confirm(void)
{
	char line[64];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return 'k';
	for (;;) {
		fputs("rlctl: (e)dit again, (d)iscard, (k)eep the copy? ", stderr);
		if (!fgets(line, sizeof(line), stdin))
			return 'k';
		if (strchr("edk", line[0]) && line[0])
			return line[0];
	}
}

/* Once round: true if the editor is to be called again. */
static bool
edit_once(struct session *session, int *status)
{
	bool is_bad;
	int answer;

	*status = EXIT_TROUBLE;
	if (!run_editor(session->copy)) {
		complain("the editor '%s' failed; %s is as it was", editor(), session->file.path);
		session->keeps_copy = read_copy(session) && !is_unchanged(session);
		return false;
	}
	if (!read_copy(session))
		return false;
	if (is_unchanged(session)) {
		puts("nothing has changed");
		*status = EXIT_YES;
		return false;
	}
	*status = change_commit(session->context, &session->file, session->text, session->len,
	                        &is_bad);
	session->keeps_copy = !is_bad && *status == EXIT_TROUBLE;
	answer = is_bad ? confirm() : 'd';
	session->keeps_copy = session->keeps_copy || answer == 'k';
	return answer == 'e';
}

static void
finish(struct session *session)
{
	if (session->keeps_copy)
		complain("what was edited is kept in %s", session->copy);
	else if (session->copy)
		unlink(session->copy);
	free(session->copy);
	free(session->text);
	file_unlock(&session->file);
}

int
config_edit(const struct context *context)
{
	struct session session = {.context = context};
	int status = EXIT_TROUBLE;

	if (!change_lock(context, 0, &session.file))
		return EXIT_TROUBLE;
	if (make_copy(&session))
		while (edit_once(&session, &status))
			;
	finish(&session);
	return status;
}
