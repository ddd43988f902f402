/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/audit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define LABEL_KEY 80 /* bytes of a pattern that are shown */

struct audit_entry {
	uint64_t id; /* of what it is of, and of which kind */
	uint64_t until_ns, since_ns;
	uint32_t author;
	uint64_t change; /* as events name it */
	char *label;
};

/* A change that an event tells of, and the user who made it. */
struct change {
	uint64_t id; /* of rule and key */
	uint32_t author;
};

/* The events since the look before. */
struct changes {
	struct rl *rl;
	struct change lifted[AUDIT_REPORTED]; /* the newest ones */
	size_t lifted_count;
	bool is_configured;
	uint32_t configured_by;
	uint64_t resets;
	int reset_rule; /* of the last one */
	uint32_t reset_by;
};

struct look {
	struct rl *rl;
	struct changes changes;
	struct audit_entry *entries;
	size_t count, room;
	unsigned reported, unreported;
	bool has_failed; /* no memory */
};

static uint64_t
id_of(const struct rl_ban_info *ban)
{
	uint64_t hash = hash_more(HASH_OF_NONE, &ban->rule, sizeof ban->rule);

	hash = hash_more(hash, &ban->is_exemption, sizeof ban->is_exemption);
	hash = hash_more(hash, &ban->pattern.match, sizeof ban->pattern.match);
	return hash_more(hash, ban->pattern.key, ban->pattern.key ? ban->pattern.key_len : 0);
}

static uint64_t
id_of_change(int rule, const void *key, size_t len)
{
	uint64_t hash = hash_more(HASH_OF_NONE, &rule, sizeof rule);

	return hash_more(hash, key, key ? len : 0);
}

/* Clients choose keys, so that a byte that is not printable ASCII is shown as \xNN. */
static void
put_bytes(FILE *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] >= ' ' && bytes[i] <= '~' && bytes[i] != '\\' && bytes[i] != '"')
			putc(bytes[i], out);
		else
			fprintf(out, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
}

static char *
label_of(struct rl *rl, const struct rl_ban_info *ban)
{
	static const char *const names[] = {"key", "prefix", "network"};
	struct rl_rule_info rule = {.name = "?"};
	size_t size, len = ban->pattern.key_len < LABEL_KEY ? ban->pattern.key_len : LABEL_KEY;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s of %s ", ban->is_exemption ? "exemption" : "ban",
	        names[ban->pattern.match]);
	if (ban->pattern.key)
		put_bytes(out, ban->pattern.key, len);
	else
		putc('?', out);
	if (ban->pattern.match == RL_MATCH_PREFIX)
		putc('*', out);
	if (ban->rule != RL_ANY_RULE)
		rl_rule_info(rl, ban->rule, &rule);
	fprintf(out, ", %s%s", ban->rule == RL_ANY_RULE ? "any rule" : "rule ",
	        ban->rule == RL_ANY_RULE ? "" : rule.name);
	if (ban->reason_len > 0) {
		fputs(", for \"", out);
		put_bytes(out, ban->reason, ban->reason_len);
		putc('"', out);
	}
	return fclose(out) == 0 ? text : NULL;
}

static void
note_reset(struct changes *changes, const struct rl_event *event)
{
	changes->resets += event->one_in;
	changes->reset_rule = event->rule;
	changes->reset_by = event->author;
}

static void
note_lifted(struct changes *changes, const struct rl_event *event)
{
	changes->lifted[changes->lifted_count++ % AUDIT_REPORTED] = (struct change){
		id_of_change(event->rule, event->key, event->key_kept), event->author};
}

static int
note_event(const struct rl_event *event, void *arg)
{
	struct changes *changes = arg;

	if (event->kind == RL_EVENT_RESET) {
		note_reset(changes, event);
	} else if (event->kind == RL_EVENT_BAN_LIFTED) {
		note_lifted(changes, event);
	} else if (event->kind == RL_EVENT_CONFIGURED) {
		changes->is_configured = true;
		changes->configured_by = event->author;
	} else if (event->kind == RL_EVENT_FORGOTTEN) {
		log_line(LOG_NOTICE,
		         "a rule that programs had defined was forgotten, by uid %" PRIu32,
		         (uint32_t)event->author);
	}
	return 0;
}

static int
add(const struct rl_ban_info *ban, void *arg)
{
	struct look *look = arg;
	struct audit_entry *grown;

	if (look->count == look->room) {
		look->room = look->room > 0 ? 2 * look->room : 64;
		grown = realloc(look->entries, look->room * sizeof *grown);
		if (!grown) {
			look->has_failed = true;
			return 1;
		}
		look->entries = grown;
	}
	look->entries[look->count++] = (struct audit_entry){
		.id = id_of(ban),
		.until_ns = ban->until_ns,
		.since_ns = ban->since_ns,
		.author = ban->author,
		.change = id_of_change(ban->rule, ban->pattern.key,
	                               ban->pattern.key ? ban->pattern.key_len : 0),
		.label = label_of(look->rl, ban),
	};
	return 0;
}

static int
compare(const void *left, const void *right)
{
	const struct audit_entry *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static void
free_entries(struct audit_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(entries[i].label);
	free(entries);
}

static struct look
look_at(struct rl *rl)
{
	struct look look = {.rl = rl};

	rl_bans_walk(rl, rl_now(rl), add, &look);
	if (look.count > 0)
		qsort(look.entries, look.count, sizeof *look.entries, compare);
	return look;
}

void
audit_start(struct audit *audit, struct rl *rl)
{
	struct look look = look_at(rl);
	struct rl_info info;

	rl_info(rl, &info);
	*audit = (struct audit){
		.entries = look.entries, .count = look.count, .generation = info.generation};
	rl_events_now(rl, &audit->cursor);
}

static bool
may_report(struct look *look)
{
	look->unreported += look->reported >= AUDIT_REPORTED;
	return look->reported++ < AUDIT_REPORTED;
}

static void
report_set(struct look *look, const struct audit_entry *entry)
{
	if (may_report(look))
		log_line(LOG_NOTICE, "%s: set by uid %" PRIu32, entry->label ? entry->label : "ban",
		         entry->author);
}

/* NULL: no event tells. */
static const struct change *
lifted_by(const struct changes *changes, uint64_t id)
{
	for (size_t i = 0; i < changes->lifted_count && i < AUDIT_REPORTED; i++)
		if (changes->lifted[i].id == id)
			return &changes->lifted[i];
	return NULL;
}

/* One that ended by itself is no change that anybody made. */
static void
report_gone(struct look *look, const struct audit_entry *entry)
{
	const struct change *by = lifted_by(&look->changes, entry->change);
	const char *label = entry->label ? entry->label : "ban";

	if (entry->until_ns <= rl_now(look->rl) || !may_report(look))
		return;
	if (by)
		log_line(LOG_NOTICE, "%s: lifted by uid %" PRIu32, label, by->author);
	else
		log_line(LOG_NOTICE, "%s: lifted", label);
}

static void
report_changes(const struct audit *audit, struct look *look)
{
	size_t i = 0, j = 0;

	while (i < audit->count || j < look->count) {
		const struct audit_entry *was = i < audit->count ? &audit->entries[i] : NULL;
		const struct audit_entry *is = j < look->count ? &look->entries[j] : NULL;
		int order = !was ? 1 : !is ? -1 : compare(was, is);

		if (order < 0)
			report_gone(look, was);
		else if (order > 0 || was->until_ns != is->until_ns ||
		         was->since_ns != is->since_ns)
			report_set(look, is);
		i += order <= 0;
		j += order >= 0;
	}
	if (look->unreported > 0)
		log_line(LOG_NOTICE, "and %u more bans and exemptions set or lifted",
		         look->unreported);
}

static void
report_generation(struct audit *audit, struct rl *rl, const struct changes *changes)
{
	char who[48] = "another process";
	struct rl_info info;

	rl_info(rl, &info);
	if (changes->is_configured)
		snprintf(who, sizeof who, "uid %" PRIu32, changes->configured_by);
	if (info.generation != audit->generation)
		log_line(LOG_NOTICE,
		         "generation %" PRIu64
		         " of the configuration is in force, put there by %s; "
		         "'rlctl config history' tells what it was",
		         info.generation, who);
	audit->generation = info.generation;
}

/* Not whose: a program resets keys of clients, who choose them. */
static void
report_resets(struct audit *audit, const struct changes *changes)
{
	struct rl_rule_info rule = {.name = ""};

	audit->resets += changes->resets;
	if (changes->resets == 0 || !log_may(&audit->resets_pace, clock_monotonic_ns()))
		return;
	if (changes->reset_rule >= 0)
		rl_rule_info(changes->rl, changes->reset_rule, &rule);
	log_line(LOG_NOTICE,
	         "%" PRIu64 " resets of what is counted, the last of rule %s, by uid %" PRIu32
	         "; 'rlctl log' tells each",
	         audit->resets, rule.name[0] ? rule.name : "?", changes->reset_by);
	audit->resets = 0;
}

void
audit_look(struct audit *audit, struct rl *rl)
{
	struct look look = look_at(rl);

	look.changes.rl = rl;
	rl_events_read(rl, &audit->cursor, note_event, &look.changes);
	report_generation(audit, rl, &look.changes);
	report_resets(audit, &look.changes);
	if (look.has_failed) {
		free_entries(look.entries, look.count);
		return;
	}
	report_changes(audit, &look);
	free_entries(audit->entries, audit->count);
	audit->entries = look.entries;
	audit->count = look.count;
}

void
audit_end(struct audit *audit)
{
	free_entries(audit->entries, audit->count);
	*audit = (struct audit){0};
}
