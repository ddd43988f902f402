/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/limit_view.h"

#include <inttypes.h>
#include <model/limit.h>
#include <rl_fields.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "text/duration.h"
#include "text/names.h"

/* Length of a sub-bucket; the window where there are none. */
static uint64_t
bucket_ns(const struct rl_limit *limit)
{
	return limit->granularity > 1 ? limit->window_ns / limit->granularity : limit->window_ns;
}

static void __attribute__((format(printf, 2, 3)))
append(struct limit_text *out, const char *format, ...)
{
	size_t used = strlen(out->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out->text + used, sizeof(out->text) - used, format, arguments);
	va_end(arguments);
}

struct blind_text
limit_blind_text(const struct rl_limit *limit)
{
	struct blind_text out = {"auto"};

	if (limit->blind != RL_BLIND_AUTO)
		snprintf(out.text, sizeof out.text, "%" PRIu32, limit->blind);
	return out;
}

/* What differs from what a limit is that says nothing of it. */
static void
append_field(struct limit_text *out, const struct rl_field *field, const struct rl_limit *limit)
{
	uint64_t value = rl_field_get(field, limit);

	if (value == 0)
		return;
	if (field->offset == offsetof(struct rl_limit, granularity) && value > 1)
		append(out, ", %" PRIu64 " x %s", value, duration_format(bucket_ns(limit)).text);
	else if (field->offset == offsetof(struct rl_limit, scope))
		append(out, ", of the cluster, blind %s", limit_blind_text(limit).text);
	else if (field->marks & RL_FIELD_CLUSTER) /* blind is told; away, by those who have room */
		return;
	else if (field->marks & RL_FIELD_NETWORK)
		append(out, ", IP%s /%" PRIu64, field->word, value);
	else if (field->words)
		append(out, ", %s%s%s", field->kind == RL_FIELD_WORD ? field->word : "",
		       field->kind == RL_FIELD_WORD ? " " : "", field->words[value]);
	else if (field->kind == RL_FIELD_FLAG)
		append(out, ", %s", field->word);
	else if (value > 1 || field->offset != offsetof(struct rl_limit, granularity))
		append(out, ", %s %" PRIu64, field->word, value);
}

struct limit_text
limit_format(const struct rl_limit *limit)
{
	struct limit_text out = {""};
	const struct rl_field *field;

	if (limit->algorithm == RL_COUNTER) {
		append(&out, "counters by key");
		return out;
	}
	append(&out, "%s, %" PRIu32, algorithm_name(limit->algorithm), limit->capacity);
	if (limit->algorithm == RL_IN_FLIGHT)
		append(&out, " at once");
	else
		append(&out, " per %s", duration_format(limit->window_ns).text);
	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (field->offset > offsetof(struct rl_limit, window_ns))
			append_field(&out, field, limit);
	return out;
}

static json_t *
json_field(const struct rl_field *field, const struct rl_limit *limit)
{
	uint64_t value = rl_field_get(field, limit);

	if (field->offset == offsetof(struct rl_limit, algorithm))
		return json_text(algorithm_name(limit->algorithm));
	if (field->kind == RL_FIELD_WORD)
		return json_text(value <= field->most ? field->words[value] : "unknown");
	if (field->kind == RL_FIELD_FLAG)
		return json_boolean(value);
	if (field->kind == RL_FIELD_DURATION)
		return json_duration(value);
	if (field->offset == offsetof(struct rl_limit, granularity) && value == 0)
		value = 1;
	return json_count(value);
}

json_t *
json_limit(const struct rl_limit *limit)
{
	json_t *object = need(json_object());
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (limit->scope == RL_SCOPE_CLUSTER ||
		    !(field->marks & RL_FIELD_CLUSTER ||
		      field->offset == offsetof(struct rl_limit, scope)))
			json_put(object, field->name, json_field(field, limit));
	return object;
}
