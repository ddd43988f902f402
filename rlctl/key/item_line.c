/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/item_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/rule.h"

#define DIGITS 20
#define LINE 1024 /* bytes; a plain key has at most RL_KEY_MAX, and goes past it */
#define RATE_MOST 1e9

struct line {
	char text[LINE];
	size_t len;
};

static void
put(struct line *line, const char *text)
{
	size_t len = strlen(text);

	memcpy(line->text + line->len, text, len);
	line->len += len;
}

static void
put_number(struct line *line, uint64_t value)
{
	char digits[DIGITS];
	size_t at = DIGITS;

	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	memcpy(line->text + line->len, digits + at, DIGITS - at);
	line->len += DIGITS - at;
}

static void
put_count(struct line *line, const char *before, uint64_t value)
{
	put(line, before);
	put_number(line, value > INT64_MAX ? INT64_MAX : value);
}

static void
put_duration(struct line *line, const char *before, uint64_t ns)
{
	if (ns != RL_NEVER_NS) {
		put_count(line, before, ns);
		return;
	}
	put(line, before);
	put(line, "null");
}

static void
put_flag(struct line *line, const char *before, bool is_set)
{
	put(line, before);
	put(line, is_set ? "true" : "false");
}

/* Three digits behind the point are more than is known. */
static void
put_rate(struct line *line, const char *before, double rate)
{
	uint64_t thousandths = (uint64_t)((rate < RATE_MOST ? rate : RATE_MOST) * 1000 + 0.5);
	char behind[] = ".000";

	put_count(line, before, thousandths / 1000);
	for (int digit = 3; digit > 0; digit--, thousandths /= 10)
		behind[digit] = (char)('0' + thousandths % 10);
	put(line, behind);
}

static void
flush(FILE *out, struct line *line)
{
	fwrite(line->text, 1, line->len, out);
	line->len = 0;
}

/* Members of an object that is built for them, without its braces. To be freed. */
static char *
members(json_t *object)
{
	char *text = need(json_dumps(object, JSON_ENSURE_ASCII));
	size_t len = strlen(text);

	json_decref(object);
	memmove(text, text + 1, len - 2);
	text[len - 2] = '\0';
	return text;
}

/* What JSON takes as it is, in ASCII alone. */
static bool
is_plain(const struct key_view *key)
{
	const unsigned char *bytes = key->bytes;

	if (!bytes || key->kept < key->len)
		return false;
	for (size_t i = 0; i < key->kept; i++)
		if (bytes[i] < ' ' || bytes[i] >= 0x7f || bytes[i] == '"' || bytes[i] == '\\')
			return false;
	return true;
}

static void
write_members(FILE *out, json_t *object)
{
	char *text = members(object), *at = text;

	for (char *odd; (odd = strchr(at, 0x7f)); at = odd + 1)
		fprintf(out, "%.*s\\u007F", (int)(odd - at), at);
	fputs(at, out);
	free(text);
}

static void
write_key(FILE *out, const struct key_view *key)
{
	json_t *object;

	if (is_plain(key)) {
		fputs("\"key\": \"", out);
		fwrite(key->bytes, 1, key->kept, out);
		putc('"', out);
		return;
	}
	object = need(json_object());
	json_put_key(object, key);
	write_members(out, object);
}

static const char *
rule_member(struct item_lines *lines, int rule)
{
	json_t *object;
	char *text;

	if (lines->has_name && lines->rule == rule)
		return lines->name;
	object = need(json_object());
	json_put(object, "rule", json_rule_name(lines->rl, rule));
	text = members(object);
	snprintf(lines->name, sizeof(lines->name), "%s", text);
	free(text);
	lines->rule = rule;
	lines->has_name = true;
	return lines->name;
}

static void
put_usage(struct line *line, const struct usage *usage)
{
	put_count(line, ", \"limit\": ", usage->limit);
	put_count(line, ", \"used\": ", usage->used);
	put_count(line, ", \"remaining\": ", usage->remaining);
	put_duration(line, ", \"tier\": ", usage->tier > 0 ? usage->tier : RL_NEVER_NS);
	put_count(line, ", \"denied_estimate\": ", usage->denied);
	put_count(line, ", \"denied_error\": ", usage->denied_error);
	put_rate(line, ", \"denied_per_second\": ", usage->denied_rate);
	put_count(line, ", \"newest_ns\": ", usage->newest_ns);
	put(line, ", \"state\": \"");
	put(line, usage_state_name(usage));
	put_flag(line, "\", \"state_known\": ", usage->is_state_known);
	put_flag(line, ", \"limited\": ", usage->is_limited);
	put_duration(line, ", \"retry_after_ns\": ", usage->retry_after_ns);
	put_duration(line, ", \"reset_after_ns\": ", usage->reset_after_ns);
}

static void
write_reason(FILE *out, const char *reason)
{
	json_t *object;

	if (!reason) {
		fputs(", \"ban_reason\": null}", out);
		return;
	}
	object = need(json_object());
	json_put(object, "ban_reason", json_text(reason));
	fputs(", ", out);
	write_members(out, object);
	putc('}', out);
}

void
item_line_write(FILE *out, struct item_lines *lines, const struct item *item, const char *reason)
{
	struct line line = {.len = 0};

	put(&line, "{");
	put(&line, rule_member(lines, item->rule));
	put_count(&line, ", \"limit_number\": ", item->limit + UINT64_C(1));
	put(&line, ", ");
	flush(out, &line);
	write_key(out, &item->key);
	put_usage(&line, &item->usage);
	flush(out, &line);
	write_reason(out, reason);
}
