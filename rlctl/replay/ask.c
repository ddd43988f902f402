/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/ask.h"

#include "base/expiry.h"
#include "base/output.h"

#define KEY_DEFAULT "client"

static bool
read_format(const struct context *context, struct format_choice *format)
{
	const char *name = option_value(context, "format");

	*format = (struct format_choice){
		.name = name ? format_find(name) : "auto",
		.layout = option_value(context, "log-format"),
		.time_name = option_value(context, "time"),
	};
	if (format->name)
		return true;
	complain("--format: unknown format '%s'; use one of " FORMAT_NAMES, name);
	return false;
}

/* That it can be read at all is to be known before any line is. */
static bool
check_layout(const struct context *context)
{
	const char *text = option_value(context, "log-format");
	struct layout layout;
	const char *wrong = text ? layout_make(text, &layout) : NULL;

	if (wrong)
		complain("--log-format: it %s", wrong);
	else if (text)
		layout_free(&layout);
	return !wrong;
}

static bool
read_key(const struct context *context, struct ask *ask)
{
	const char *text = option_value(context, "key"), *wrong;

	ask->key_text = text ? text : KEY_DEFAULT;
	wrong = key_parse(ask->key_text, &ask->wants, &ask->key);
	if (wrong)
		complain("--key: '%s' %s", text, wrong);
	return !wrong;
}

static bool
read_where(const struct context *context, struct ask *ask)
{
	int at = 0;

	for (const char *text; (text = option_next(context, "where", &at));) {
		const char *wrong = ask->where_count == WHERES_MAX ? "is one too many" : NULL;

		if (!wrong)
			wrong = where_parse(text, &ask->wants, &ask->where[ask->where_count++]);
		if (!wrong)
			continue;
		complain("--where: '%s' %s", text, wrong);
		return false;
	}
	return true;
}

static bool
read_time(const struct context *context, const char *option, uint64_t *ns)
{
	const char *text = option_value(context, option);
	const char *wrong = text ? expiry_parse(text, ns) : NULL;

	if (wrong)
		complain("--%s: '%s' %s", option, text, wrong);
	return !wrong;
}

static bool
read_field(const struct context *context, const char *option, struct wants *wants, bool *has,
           size_t *field)
{
	const char *text = option_value(context, option);

	*has = text != NULL;
	*field = text ? wants_add(wants, text) : 0;
	if (*field < WANTS_MAX)
		return true;
	complain("--%s: '%s' is one field too many", option, text);
	return false;
}

static bool
read_costs(const struct context *context, struct ask *ask)
{
	if (option_value(context, "lasts") && !option_value(context, "actual")) {
		complain("--lasts: is of use with --actual alone");
		return false;
	}
	return read_field(context, "cost", &ask->wants, &ask->has_cost, &ask->cost) &&
	       read_field(context, "actual", &ask->wants, &ask->has_actual, &ask->actual) &&
	       read_field(context, "lasts", &ask->wants, &ask->has_lasts, &ask->lasts);
}

bool
ask_read(const struct context *context, struct ask *ask)
{
	ask->until_ns = RL_NEVER_NS;
	return read_format(context, &ask->format) && check_layout(context) &&
	       read_key(context, ask) && read_where(context, ask) &&
	       read_time(context, "since", &ask->since_ns) &&
	       read_time(context, "until", &ask->until_ns) && read_costs(context, ask);
}

void
ask_free(struct ask *ask)
{
	for (size_t i = 0; i < ask->where_count; i++)
		where_free(&ask->where[i]);
	key_free(&ask->key);
}
