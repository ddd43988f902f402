/* SPDX-License-Identifier: BSD-2-Clause */
/* log: what the segment has to tell, oldest first; --follow goes on with what comes. */

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/interrupt.h"
#include "base/match.h"
#include "base/output.h"
#include "base/rule.h"
#include "base/width.h"
#include "key/active_bans.h"
#include "key/timed.h"
#include "text/duration.h"

#define LOOK_NS (200 * RL_MILLISECOND) /* how often --follow looks */
#define WHAT_WIDTH 11
#define RULE_WIDTH 12

const struct command_option log_options[] = {
	{"follow", 'f', NULL, "go on with what comes, until interrupted"},
	{"rule", 'r', "RULE", "of this rule alone"},
	{"match", 'm', "GLOB|CIDR", "of keys that match"},
	{"changes", 'c', NULL, "changes alone, and the last 1024 of them, whatever came between"},
	{"since", 'S', "D", "of the last so long; default: all that is kept"},
	{0},
};

struct log {
	struct rl *rl;
	int rule;
	const struct match *match; /* or NULL */
	uint64_t since_ns;         /* Unix time */
	bool is_json;
	size_t columns; /* of the terminal; 0: none */
	bool is_of_changes;
	struct rl_events_cursor cursor;
	uint64_t lost; /* of them, how many were told */
};

static struct key_view
key_of(const struct rl_event *event)
{
	return (struct key_view){
		.bytes = event->key,
		.kept = event->key_kept,
		.len = event->key_len,
		.id = event->id,
	};
}

static bool
has_key(const struct rl_event *event)
{
	return event->key || event->id > 0;
}

/* A change: of a rule or a ban, and somebody made it. */
static bool
is_change(const struct rl_event *event)
{
	return RL_EVENT_IS_CHANGE(event->kind);
}

static bool
is_of_limit(const struct rl_event *event)
{
	return event->kind == RL_EVENT_DENIED || event->kind >= RL_EVENT_OVERRIDE_SET;
}

static const char *
name_of(const struct rl_event *event)
{
	const char *name = rl_event_name(event->kind);

	return name ? name : "unknown";
}

static bool
is_wanted(const struct log *log, const struct rl_event *event)
{
	const struct key_view key = key_of(event);

	if (event->time_ns < log->since_ns ||
	    (log->rule != RL_ANY_RULE && event->rule != log->rule))
		return false;
	return !log->match || (event->key && match_has(log->match, &key));
}

static json_t *
json_author(const struct rl_event *event)
{
	return is_change(event) ? json_count(event->author) : json_null();
}

static bool
is_of_pattern(const struct rl_event *event)
{
	return event->kind >= RL_EVENT_BAN_SET && event->kind <= RL_EVENT_EXEMPTION_SET;
}

static json_t *
json_match(const struct rl_event *event)
{
	return is_of_pattern(event) ? json_text(match_name(event->match)) : json_null();
}

static void
write_json(struct log *log, const struct rl_event *event)
{
	const struct key_view key = key_of(event);
	json_t *object = need(json_object());

	json_put(object, "at_ns", json_count(event->time_ns & INT64_MAX));
	json_put(object, "event", json_text(name_of(event)));
	json_put(object, "rule", json_rule_name(log->rl, event->rule));
	if (is_of_limit(event))
		json_put(object, "limit_number", json_count(event->limit + UINT64_C(1)));
	if (has_key(event))
		json_put_key(object, &key);
	json_put(object, "retry_after_ns", json_duration(event->retry_after_ns));
	json_put(object, "one_in", json_count(event->one_in));
	json_put(object, "uid", json_author(event));
	json_put(object, "match", json_match(event));
	if (event->capacity > 0)
		json_put(object, "capacity", json_count(event->capacity));
	if (event->kind == RL_EVENT_CONFIGURED)
		json_put(object, "generation", json_count(event->generation & INT64_MAX));
	output_json_line(stdout, object);
}

/* The rest of the line, behind the key. To be freed. */
static char *
rest_text(const struct log *log, const struct rl_event *event)
{
	const struct passwd *user = is_change(event) ? getpwuid(event->author) : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = need(open_memstream(&text, &size));

	if (is_of_pattern(event) && event->match == RL_MATCH_PREFIX)
		putc('*', out);
	if (event->kind == RL_EVENT_CONFIGURED)
		fprintf(out, "generation %" PRIu64, event->generation);
	if (event->capacity > 0)
		fprintf(out, " %s",
		        timed_rate(log->rl, event->rule, event->limit, event->capacity).text);
	if (user)
		fprintf(out, " by %s", user->pw_name);
	else if (is_change(event))
		fprintf(out, " by uid %u", (unsigned)event->author);
	if (event->one_in > 1)
		fprintf(out, " (one in %" PRIu32 ")", event->one_in);
	fclose(out);
	return text;
}

/* Of a change it is how long it holds, of a denial when to come again. */
static struct duration_text
retry_of(const struct rl_event *event)
{
	static const struct duration_text none = {"-"};

	return event->retry_after_ns == 0 ? none : duration_format(event->retry_after_ns);
}

/* As much of the key as the terminal has room for beside the rest, but some of it. */
static void
print_key_and_rest(const struct log *log, const struct rl_event *event, size_t taken)
{
	const struct key_view key = key_of(event);
	char *text = has_key(event) ? key_text(&key) : NULL, *rest = rest_text(log, event);

	taken += text_columns(rest);
	if (text && log->columns > taken + 8)
		text_cut(text, log->columns - taken);
	printf("%s%s", text ? text : "", rest);
	free(text);
	free(rest);
}

/* Fits 80 columns, but for long keys where there is no terminal to cut them for. */
static void
print_line(struct log *log, const struct rl_event *event)
{
	struct time_text time = time_format(event->time_ns, false);
	struct rule_text rule = {"-"};
	int taken;

	if (event->rule >= 0)
		rule = is_of_limit(event) ? limit_label(log->rl, event->rule, event->limit)
		                          : rule_label(log->rl, event->rule);
	if (log->columns > 0)
		text_cut(rule.text, RULE_WIDTH);
	taken = printf("%s  %-*s %7s  ", time.text + strlen("2026-"), WHAT_WIDTH, name_of(event),
	               retry_of(event).text);
	printf("%s%*s  ", rule.text,
	       text_columns(rule.text) < RULE_WIDTH ? RULE_WIDTH - (int)text_columns(rule.text) : 0,
	       "");
	print_key_and_rest(log, event, (size_t)taken + RULE_WIDTH + 2);
	putchar('\n');
}

static int
show_event(const struct rl_event *event, void *arg)
{
	struct log *log = arg;

	if (!is_wanted(log, event))
		return 0;
	if (log->is_json)
		write_json(log, event);
	else
		print_line(log, event);
	return ferror(stdout) != 0;
}

static void
report_lost(struct log *log)
{
	uint64_t lost = log->cursor.lost - log->lost;

	log->lost = log->cursor.lost;
	if (lost > 0 && output_flush())
		complain("log: %" PRIu64 " events were written over before they were read", lost);
}

/* All that is finished by now. An event that is just being written is looked at twice. */
static int
read_once(struct log *log)
{
	int error = log->is_of_changes ? rl_changes_read(log->rl, &log->cursor, show_event, log)
	                               : rl_events_read(log->rl, &log->cursor, show_event, log);

	report_lost(log);
	return error;
}

static int
follow(struct log *log)
{
	interrupt_catch();
	do {
		int error = read_once(log);

		if (error != 0)
			return error;
		if (fflush(stdout) != 0)
			break;
	} while (interrupt_sleep(LOOK_NS));
	return 0;
}

static int
show(const struct context *context, struct log *log)
{
	int error;

	log->rule = rule_option(log->rl, context);
	if (log->rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (log->since_ns > 0)
		log->since_ns = rl_now(log->rl) - log->since_ns;
	if (option_value(context, "follow")) {
		error = follow(log);
	} else {
		error = read_once(log);
		error = error == 0 ? read_once(log) : error; /* past one that nobody finishes */
	}
	if (error == -ENOENT)
		complain("log: the segment keeps no events: it was made with events 0");
	return error < 0 ? EXIT_TROUBLE : EXIT_YES;
}

static bool
read_since(const struct context *context, uint64_t *ns)
{
	const char *text = option_value(context, "since");
	const char *wrong = text ? duration_parse(text, ns) : NULL;

	if (wrong)
		complain("--since: '%s' %s", text, wrong);
	return !wrong;
}

int
run_log(const struct context *context)
{
	struct log log = {.is_json = option_value(context, "json") != NULL,
	                  .is_of_changes = option_value(context, "changes") != NULL,
	                  .columns = terminal_columns()};
	const char *glob = option_value(context, "match");
	struct match match;

	if (!read_since(context, &log.since_ns) || (glob && !match_make("--match", glob, &match)))
		return EXIT_TROUBLE;
	log.match = glob ? &match : NULL;
	log.rl = open_segment(context);
	return log.rl ? show(context, &log) : EXIT_TROUBLE;
}
