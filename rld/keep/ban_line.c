/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep/ban_line.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const matches[] = {
	[RL_MATCH_KEY] = "key",
	[RL_MATCH_PREFIX] = "prefix",
	[RL_MATCH_NETWORK] = "network",
};

#define MATCHES (sizeof matches / sizeof matches[0])

static void
put_bytes(json_t *object, const char *name, const char *bytes, size_t len)
{
	json_t *text = memchr(bytes, '\0', len) ? NULL : json_stringn(bytes, len);
	char hex[2 * RL_KEY_MAX + 1], hex_name[32];

	if (text) {
		json_object_set_new(object, name, text);
		return;
	}
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)bytes[i]);
	snprintf(hex_name, sizeof hex_name, "%s_hex", name);
	json_object_set_new(object, hex_name, json_stringn(hex, 2 * len));
}

static json_t *
time_or_null(uint64_t ns)
{
	return ns == RL_NEVER_NS ? json_null() : json_integer((json_int_t)ns);
}

static const char *
effect_of(const struct rl_ban_info *ban)
{
	if (ban->capacity > 0)
		return "override";
	return ban->is_exemption ? "exemption" : "ban";
}

/* `rule` is its name, "" for every rule. */
static void
write_line(FILE *out, const struct rl_ban_info *ban, const char *rule)
{
	json_t *object = json_object();

	json_object_set_new(object, "effect", json_string(effect_of(ban)));
	json_object_set_new(object, "rule", *rule ? json_string(rule) : json_null());
	json_object_set_new(object, "match", json_string(matches[ban->pattern.match]));
	put_bytes(object, "key", ban->pattern.key, ban->pattern.key_len);
	json_object_set_new(object, "until_ns", time_or_null(ban->until_ns));
	if (ban->is_automatic)
		json_object_set_new(object, "automatic", json_true());
	if (ban->capacity > 0) {
		json_object_set_new(object, "limit_number", json_integer(ban->limit + 1));
		json_object_set_new(object, "capacity", json_integer(ban->capacity));
	}
	json_object_set_new(object, "since_ns", json_integer((json_int_t)ban->since_ns));
	json_object_set_new(object, "author", json_integer(ban->author));
	json_object_set_new(object, "hits", json_integer((json_int_t)ban->hits));
	if (ban->reason_len > 0)
		put_bytes(object, "reason", ban->reason, ban->reason_len);
	json_dumpf(object, out, JSON_COMPACT);
	putc('\n', out);
	json_decref(object);
}

bool
ban_line_write(FILE *out, struct rl *rl, const struct rl_ban_info *ban)
{
	struct rl_rule_info rule = {.name = ""};

	if (!ban->pattern.key || ban->pattern.key_len < ban->key_len ||
	    (ban->capacity > 0 && ban->rule == RL_ANY_RULE))
		return false;
	if (ban->rule != RL_ANY_RULE && (rl_rule_info(rl, ban->rule, &rule) < 0 || !rule.name[0]))
		return false;
	write_line(out, ban, rule.name);
	return true;
}

void
ban_line_write_again(FILE *out, const struct ban_line *line)
{
	write_line(out, &line->ban, line->rule);
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
read_hex(const json_t *hex, char *bytes, size_t room, size_t *len)
{
	const char *text = json_string_value(hex);

	*len = json_string_length(hex) / 2;
	if (json_string_length(hex) % 2 != 0 || *len > room)
		return false;
	for (size_t i = 0; i < *len; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (char)(high << 4 | low);
	}
	return true;
}

/* Neither of them: true, with 0 bytes. */
static bool
read_bytes(const json_t *root, const char *name, char *bytes, size_t room, size_t *len)
{
	const json_t *text = json_object_get(root, name), *hex;
	char hex_name[32];

	snprintf(hex_name, sizeof hex_name, "%s_hex", name);
	hex = json_object_get(root, hex_name);
	*len = 0;
	if (hex)
		return !text && json_is_string(hex) && read_hex(hex, bytes, room, len);
	if (!text || json_is_null(text))
		return true;
	*len = json_string_length(text);
	if (!json_is_string(text) || *len > room)
		return false;
	memcpy(bytes, json_string_value(text), *len);
	return true;
}

static bool
read_number(const json_t *root, const char *name, uint64_t most, uint64_t *number)
{
	const json_t *value = json_object_get(root, name);

	*number = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0 && *number <= most;
}

static bool
read_until(const json_t *root, uint64_t *until_ns)
{
	*until_ns = RL_NEVER_NS;
	return json_is_null(json_object_get(root, "until_ns")) ||
	       read_number(root, "until_ns", INT64_MAX, until_ns);
}

static bool
read_match(const json_t *root, enum rl_match *match)
{
	const char *name = json_string_value(json_object_get(root, "match"));

	for (size_t i = 0; name && i < MATCHES; i++) {
		*match = (enum rl_match)i;
		if (strcmp(matches[i], name) == 0)
			return true;
	}
	return false;
}

static bool
read_rule(const json_t *root, char rule[RL_NAME_MAX + 1])
{
	const json_t *value = json_object_get(root, "rule");
	size_t len = json_string_length(value);

	rule[0] = '\0';
	if (json_is_null(value))
		return true;
	if (len == 0 || len > RL_NAME_MAX)
		return false;
	memcpy(rule, json_string_value(value), len + 1);
	return true;
}

static bool
read_effect(const json_t *root, struct rl_ban_info *ban)
{
	const char *effect = json_string_value(json_object_get(root, "effect"));
	uint64_t limit, capacity;

	if (!effect)
		return false;
	ban->is_exemption = strcmp(effect, "exemption") == 0;
	if (strcmp(effect, "override") != 0)
		return ban->is_exemption || strcmp(effect, "ban") == 0;
	if (!read_number(root, "limit_number", RL_LIMITS_MAX, &limit) || limit == 0 ||
	    !read_number(root, "capacity", RL_CAPACITY_MAX, &capacity) || capacity == 0)
		return false;
	ban->limit = (unsigned)limit - 1;
	ban->capacity = (uint32_t)capacity;
	return true;
}

static const char *
read_root(const json_t *root, struct ban_line *line)
{
	struct rl_ban_info *ban = &line->ban;
	uint64_t author;

	if (!read_effect(root, ban))
		return "no effect";
	ban->is_automatic = json_is_true(json_object_get(root, "automatic"));
	if (!read_rule(root, line->rule))
		return "no rule";
	if (!read_match(root, &ban->pattern.match))
		return "no match";
	if (!read_bytes(root, "key", line->key, sizeof line->key, &ban->pattern.key_len) ||
	    ban->pattern.key_len == 0)
		return "no key";
	if (!read_until(root, &ban->until_ns))
		return "no until_ns";
	if (!read_number(root, "since_ns", INT64_MAX, &ban->since_ns) ||
	    !read_number(root, "author", UINT32_MAX, &author) ||
	    !read_number(root, "hits", INT64_MAX, &ban->hits))
		return "no since_ns, author or hits";
	if (!read_bytes(root, "reason", ban->reason, RL_REASON_MAX, &ban->reason_len))
		return "a reason that is none";
	ban->author = (uint32_t)author;
	ban->pattern.key = line->key;
	ban->key_len = ban->pattern.key_len;
	return NULL;
}

const char *
ban_line_read(const char *text, size_t len, struct ban_line *line)
{
	json_t *root =
		len <= BAN_LINE_MAX ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *wrong = "is no JSON";

	memset(line, 0, sizeof *line);
	if (json_is_object(root))
		wrong = read_root(root, line);
	json_decref(root);
	return wrong;
}
