/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define KEY_TEXT (4 * RL_KEY_MAX + 1)

/* An event as text. */
struct reporting {
	const struct rl_event *event;
	const char *name;
	char rule[4 * RL_NAME_MAX + 1];
	char key[KEY_TEXT]; /* nothing of it ends a line, or is a blank */
};

/* Printable ASCII but blanks and backslashes as it is, and each other byte as \xNN. */
static void
put_plain(char *to, const void *bytes, size_t len)
{
	const unsigned char *from = bytes;

	for (size_t i = 0; i < len && i < RL_KEY_MAX; i++)
		to += sprintf(
			to, from[i] > 0x20 && from[i] < 0x7f && from[i] != '\\' ? "%c" : "\\x%02x",
			from[i]);
	*to = '\0';
}

static void
reporting_make(struct rl *rl, const struct rl_event *event, struct reporting *t)
{
	struct rl_rule_info info;

	*t = (struct reporting){.event = event, .name = rl_event_name(event->kind), .rule = "-"};
	if (!t->name)
		t->name = "unknown";
	if (event->rule >= 0 && rl_rule_info(rl, event->rule, &info) == 1 && info.name[0])
		put_plain(t->rule, info.name, strlen(info.name));
	put_plain(t->key, event->key, event->key ? event->key_kept : 0);
}

/* The key comes last, and has no blank: so a filter knows where it begins. */
static void
put_message(FILE *to, const struct events *e, const struct reporting *t)
{
	const struct rl_event *event = t->event;

	fprintf(to, "rl[%s] %s: rule %s limit %u one in %" PRIu32, e->segment, t->name, t->rule,
	        event->limit + 1, event->one_in);
	if (event->retry_after_ns == RL_NEVER_NS)
		fputs(" retry never", to);
	else
		fprintf(to, " retry %" PRIu64 " ms", event->retry_after_ns / RL_MILLISECOND);
	if (RL_EVENT_IS_CHANGE(event->kind))
		fprintf(to, " by uid %u", (unsigned)event->author);
	if (event->capacity > 0)
		fprintf(to, " capacity %" PRIu32, event->capacity);
	if (event->key)
		fprintf(to, " key %s%s%s", t->key, event->key_kept < event->key_len ? "..." : "",
		        event->match == RL_MATCH_PREFIX ? "*" : "");
}

/* What is left of a line that was cut is ended so that nobody takes it for a whole one. */
#define CUT " (cut)\n"

/* One write: it stays whole, unless the disk is full. */
static bool
append_line(struct events *e, const char *line, size_t size)
{
	ssize_t written;

	if (e->is_cut && write(e->file_fd, CUT, strlen(CUT)) == (ssize_t)strlen(CUT))
		e->is_cut = false;
	if (e->is_cut)
		return false;
	written = write(e->file_fd, line, size);
	if (written < 0)
		e->write_error = errno;
	else if ((size_t)written < size)
		e->write_error = ENOSPC;
	e->is_cut = written > 0 && (size_t)written < size;
	return written == (ssize_t)size;
}

static void
write_file(struct events *e, const struct reporting *t)
{
	time_t seconds = (time_t)(t->event->time_ns / RL_SECOND);
	char *line = NULL, stamp[32];
	size_t size = 0;
	struct tm tm;
	FILE *to;

	if (e->file_fd < 0 || !gmtime_r(&seconds, &tm))
		return;
	to = open_memstream(&line, &size);
	if (!to)
		return;
	strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ ", &tm);
	fputs(stamp, to);
	put_message(to, e, t);
	putc('\n', to);
	if (fclose(to) == 0 && !append_line(e, line, size))
		e->unwritten++;
	free(line);
}

/* A field of any bytes: its length stands before them. */
static void
put_bytes(FILE *to, const char *name, const void *bytes, size_t len)
{
	fprintf(to, "%s\n", name);
	for (int byte = 0; byte < 8; byte++)
		putc((int)((uint64_t)len >> 8 * byte & 0xff), to);
	fwrite(bytes, 1, len, to);
	putc('\n', to);
}

static void
put_fields(FILE *to, const struct events *e, const struct reporting *t)
{
	const struct rl_event *event = t->event;

	fputs("MESSAGE=", to);
	put_message(to, e, t);
	fprintf(to,
	        "\nPRIORITY=%d\nSYSLOG_IDENTIFIER=rld\nRL_EVENT=%s\nRL_SEGMENT=%s\nRL_RULE=%s\n"
	        "RL_LIMIT=%u\nRL_ONE_IN=%" PRIu32 "\nRL_TIME_NS=%" PRIu64 "\nRL_RETRY_NS=%" PRIu64
	        "\n",
	        event->kind >= RL_EVENT_FULL ? LOG_NOTICE : LOG_INFO, t->name, e->segment, t->rule,
	        event->limit + 1, event->one_in, event->time_ns, event->retry_after_ns);
	if (RL_EVENT_IS_CHANGE(event->kind))
		fprintf(to, "RL_UID=%u\n", (unsigned)event->author);
	if (event->capacity > 0)
		fprintf(to, "RL_CAPACITY=%" PRIu32 "\n", event->capacity);
	if (event->key)
		put_bytes(to, "RL_KEY", event->key, event->key_kept);
}

/* One datagram. A journal that does not take it now has lost it: nothing here waits for it. */
static void
write_journal(struct events *e, const struct reporting *t)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (e->journal_fd < 0)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	put_fields(out, e, t);
	snprintf(to.sun_path, sizeof to.sun_path, "%s", e->journal);
	if (fclose(out) == 0 && sendto(e->journal_fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL,
	                               (struct sockaddr *)&to, sizeof to) < 0)
		e->reported_lost--; /* one more is lost */
	free(text);
}

static int
hand_on(const struct rl_event *event, void *arg)
{
	struct events *e = arg;
	struct reporting t;

	reporting_make(e->rl, event, &t);
	write_file(e, &t);
	write_journal(e, &t);
	return 0;
}

static void
report_unwritten(struct events *e)
{
	log_line(LOG_WARNING, "--events-file %s: %" PRIu64 " events could not be written: %s",
	         e->path, e->unwritten - e->reported_unwritten, strerror(e->write_error));
	e->reported_unwritten = e->unwritten;
}

static void
report_lost(struct events *e)
{
	log_line(LOG_WARNING, "%" PRIu64 " events were lost before they could be handed on",
	         e->cursor.lost - e->reported_lost);
	e->reported_lost = e->cursor.lost;
}

void
events_run(struct events *e, uint64_t now_ns)
{
	if (!e->rl)
		return;
	rl_events_read(e->rl, &e->cursor, hand_on, e);
	if (e->unwritten != e->reported_unwritten && log_may(&e->file_pace, now_ns))
		report_unwritten(e);
	if (e->cursor.lost != e->reported_lost && log_may(&e->pace, now_ns))
		report_lost(e);
}

/* A regular file, that of nobody else's choice: no link is followed. */
static int
open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	              0640);
	struct stat is;

	if (fd >= 0 && (fstat(fd, &is) < 0 || !S_ISREG(is.st_mode))) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (fd < 0)
		log_line(LOG_ERR, "--events-file %s: %s", path,
		         errno == EINVAL ? "is not a regular file" : strerror(errno));
	return fd;
}

/* Does it end in the middle of a line, for nobody has ended it before? */
static bool
ends_cut(const char *path)
{
	FILE *file = fopen(path, "re");
	bool is_cut = file && fseek(file, -1, SEEK_END) == 0 && getc(file) != '\n';

	if (file)
		fclose(file);
	return is_cut;
}

static int
open_both(struct events *e)
{
	if (e->path) {
		e->file_fd = open_file(e->path);
		if (e->file_fd < 0)
			return -1;
		e->is_cut = ends_cut(e->path);
	}
	if (!e->journal)
		return 0;
	if (strlen(e->journal) >= sizeof((struct sockaddr_un *)0)->sun_path) {
		log_line(LOG_ERR, "--events-journal %s: the path is too long", e->journal);
		return -1;
	}
	e->journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->journal_fd < 0)
		log_line(LOG_ERR, "--events-journal: %s", strerror(errno));
	return e->journal_fd < 0 ? -1 : 0;
}

int
events_open(struct events *e, struct rl *rl, const char *journal, const char *path)
{
	struct rl_info info;

	rl_info(rl, &info);
	*e = (struct events){.segment = info.name,
	                     .journal = journal,
	                     .path = path,
	                     .journal_fd = -1,
	                     .file_fd = -1};
	if (!journal && !path)
		return 0;
	if (info.events == 0)
		log_line(LOG_WARNING, "the segment keeps no events: none is handed on");
	e->rl = info.events > 0 ? rl : NULL;
	rl_events_now(rl, &e->cursor);
	return open_both(e);
}

void
events_reopen(struct events *e)
{
	int fd = e->path ? open_file(e->path) : -1;

	if (fd < 0) /* as it was */
		return;
	close(e->file_fd);
	e->file_fd = fd;
	e->is_cut = ends_cut(e->path);
}

void
events_close(struct events *e)
{
	if (e->unwritten != e->reported_unwritten)
		report_unwritten(e);
	if (e->cursor.lost != e->reported_lost)
		report_lost(e);
	if (e->journal_fd >= 0)
		close(e->journal_fd);
	if (e->file_fd >= 0)
		close(e->file_fd);
	e->journal_fd = e->file_fd = -1;
	e->rl = NULL;
}
