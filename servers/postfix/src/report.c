/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who was limited: the lines that rld --events-file has written, of this segment and of the rules
 * of the checks, summed up by rule and key. A line is
 *
 *	2026-01-31T12:00:00Z rl[mail] denied: rule messages limit 1 one in 1 retry 900 ms key alice
 *
 * with a key and minute once. The key is the last, and has neither blanks nor control characters.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "policyd.h"

#define LINE_SIZE (5 * RL_KEY_MAX)
#define ROWS_MAX 100000 /* of which more are counted, and not told */

struct row {
	char *key;
	char rule[RL_NAME_MAX + 1];
	uint64_t first_s, last_s;
	unsigned minutes; /* in which it was denied */
	bool is_banned;
};

struct rows {
	struct row *rows;
	size_t count, room;
	uint64_t left_out;
};

static bool
is_rule_of(const struct settings *settings, const char *rule)
{
	for (size_t i = 0; i < settings->check_count; i++)
		if (strcmp(settings->checks[i].rule, rule) == 0)
			return true;
	return false;
}

/* A line's time, rule and key, and whether it is a ban's. false: it is another's, or no denial. */
static bool
read_line(const struct settings *settings, char *line, struct row *row)
{
	char segment[RL_NAME_MAX + 1], kind[16];
	struct tm tm = {0};
	int behind = 0;
	char *rest = strptime(line, "%Y-%m-%dT%H:%M:%SZ", &tm);

	if (!rest || sscanf(rest, " rl[%63[^]]] %15[a-z]: rule %63s%n", segment, kind, row->rule,
	                    &behind) != 3)
		return false;
	row->key = strstr(rest + behind, " key ");
	row->is_banned = strcmp(kind, "banned") == 0;
	if (!row->key || (!row->is_banned && strcmp(kind, "denied") != 0))
		return false;
	row->key += strlen(" key ");
	row->key[strcspn(row->key, "\r\n")] = '\0';
	row->first_s = row->last_s = (uint64_t)timegm(&tm);
	row->minutes = 1;
	return strcmp(segment, settings->segment) == 0 && is_rule_of(settings, row->rule);
}

static bool
add(struct rows *rows, const struct row *row)
{
	if (rows->count == rows->room) {
		size_t room = rows->room > 0 ? 2 * rows->room : 64;
		struct row *larger = realloc(rows->rows, room * sizeof *larger);

		if (!larger)
			return false;
		rows->rows = larger;
		rows->room = room;
	}
	rows->rows[rows->count] = *row;
	rows->rows[rows->count].key = strdup(row->key);
	return rows->rows[rows->count++].key != NULL;
}

static int
by_name(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int rules = strcmp(a->rule, b->rule);

	return rules != 0 ? rules : strcmp(a->key, b->key);
}

/* The most denied first. */
static int
by_minutes(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->minutes != b->minutes ? (a->minutes < b->minutes ? 1 : -1) : by_name(x, y);
}

/* Rows of the same rule and key become one. */
static void
sum_up(struct rows *rows)
{
	size_t kept = 0;

	if (rows->count == 0)
		return;
	qsort(rows->rows, rows->count, sizeof *rows->rows, by_name);
	for (size_t i = 1; i < rows->count; i++) {
		struct row *to = &rows->rows[kept], *from = &rows->rows[i];

		if (by_name(to, from) != 0) {
			rows->rows[++kept] = *from;
			continue;
		}
		to->minutes += from->minutes;
		to->is_banned |= from->is_banned;
		to->first_s = from->first_s < to->first_s ? from->first_s : to->first_s;
		to->last_s = from->last_s > to->last_s ? from->last_s : to->last_s;
		free(from->key);
	}
	rows->count = kept + 1;
}

/* Reads a file, also one that is compressed by gzip. false: it could not be read to its end. */
static bool
read_file(const struct settings *settings, const char *path, uint64_t from_s, uint64_t until_s,
          struct rows *rows)
{
	static char line[LINE_SIZE];
	gzFile file = gzopen(path, "rbe");
	bool is_good = file != NULL;
	struct row row;
	int error = Z_OK;

	while (is_good && gzgets(file, line, sizeof line)) {
		if (!read_line(settings, line, &row) || row.first_s < from_s ||
		    row.first_s > until_s)
			continue;
		if (rows->count >= ROWS_MAX)
			sum_up(rows);
		if (rows->count >= ROWS_MAX)
			rows->left_out++;
		else
			is_good = add(rows, &row);
	}
	if (file)
		gzerror(file, &error);
	if (file && gzclose(file) != Z_OK)
		is_good = false;
	return is_good && error >= 0;
}

/* The file as it is now, and what logrotate has made of the one before, if that is there. */
static bool
read_files(const struct settings *settings, uint64_t from_s, uint64_t until_s, struct rows *rows)
{
	static const char *const rotated[] = {"", ".1", ".1.gz"};
	char path[256 + 8];

	for (size_t i = 0; i < settings->report.events_count; i++)
		for (size_t j = 0; j < sizeof rotated / sizeof *rotated; j++) {
			snprintf(path, sizeof path, "%s%s", settings->report.events[i], rotated[j]);
			if (j > 0 && access(path, F_OK) < 0)
				continue;
			if (!read_file(settings, path, from_s, until_s, rows)) {
				say(SAY_ALWAYS, "%s: it cannot be read", path);
				return false;
			}
		}
	return true;
}

static const char *
stamp(uint64_t seconds, char text[32])
{
	time_t time = (time_t)seconds;
	struct tm tm;

	if (!localtime_r(&time, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M", &tm) == 0)
		strcpy(text, "?");
	return text;
}

static void
print(FILE *to, struct rows *rows, uint64_t from_s, uint64_t until_s)
{
	char first[32], last[32];

	fprintf(to, "Limited from %s to %s:", stamp(from_s, first), stamp(until_s, last));
	fprintf(to, " %zu\n\n%-20s %7s  %-16s  %-16s  %s\n", rows->count, "rule", "minutes",
	        "first", "last", "key");
	qsort(rows->rows, rows->count, sizeof *rows->rows, by_minutes);
	for (size_t i = 0; i < rows->count; i++)
		fprintf(to, "%-20s %7u  %s  %s  %s%s\n", rows->rows[i].rule, rows->rows[i].minutes,
		        stamp(rows->rows[i].first_s, first), stamp(rows->rows[i].last_s, last),
		        rows->rows[i].key, rows->rows[i].is_banned ? " (banned)" : "");
	if (rows->left_out > 0)
		fprintf(to, "\nand %" PRIu64 " more lines, of others\n", rows->left_out);
}

/* Starts the command with a pipe at its standard input. NULL: said why. */
static FILE *
start(const struct report *report, pid_t *pid)
{
	char *words[COMMAND_MAX + 1] = {0};
	int ends[2];
	FILE *to;

	for (size_t i = 0; i < report->command_words; i++)
		words[i] = (char *)report->command[i];
	signal(SIGPIPE, SIG_IGN); /* a command need not read all of it */
	if (pipe(ends) < 0 || (*pid = fork()) < 0) {
		say(SAY_ALWAYS, "%s: %s", words[0], strerror(errno));
		return NULL;
	}
	if (*pid == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		execvp(words[0], words);
		say(SAY_ALWAYS, "%s: %s", words[0], strerror(errno));
		_exit(127);
	}
	close(ends[0]);
	to = fdopen(ends[1], "w");
	if (!to)
		close(ends[1]);
	return to;
}

static int
hand_over(const struct report *report, struct rows *rows, uint64_t from_s, uint64_t until_s)
{
	int status = 1;
	pid_t pid;
	FILE *to = start(report, &pid);

	if (!to)
		return 1;
	print(to, rows, from_s, until_s);
	fclose(to);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		say(SAY_ALWAYS, "%s: it has failed, status %d", report->command[0],
		    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return status == 0 ? 0 : 1;
}

int
report_run(const struct settings *settings, uint64_t now_s, uint64_t span_s)
{
	const struct report *report = &settings->report;
	uint64_t from_s = now_s > span_s ? now_s - span_s : 0;
	struct rows rows = {0};
	int status = 0;

	if (report->events_count == 0) {
		say(SAY_ALWAYS, "the settings have no \"report\" with \"events\"");
		return 1;
	}
	if (!read_files(settings, from_s, now_s, &rows))
		return 1;
	sum_up(&rows);
	if (report->command_words == 0)
		print(stdout, &rows, from_s, now_s);
	else if (rows.count > 0) /* nobody is mailed about nothing */
		status = hand_over(report, &rows, from_s, now_s);
	for (size_t i = 0; i < rows.count; i++)
		free(rows.rows[i].key);
	free(rows.rows);
	return status == 0 && fflush(stdout) == 0 ? 0 : 1;
}
