/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/top_act.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/rule.h"
#include "key/explain.h"
#include "text/duration.h"
#include "text/error_text.h"

static void __attribute__((format(printf, 2, 3))) say(struct top_ui *ui, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ui->message, sizeof(ui->message), format, arguments);
	va_end(arguments);
}

static bool
can_be_named(struct top_ui *ui)
{
	const struct key_view *key = &ui->chosen.key;

	if (key->bytes && key->kept == key->len)
		return true;
	say(ui, "not all bytes of this key are kept, so it cannot be named");
	return false;
}

void
top_act_explain(struct top_ui *ui)
{
	struct explanation explanation;
	size_t size = 0;
	FILE *out;
	int error;

	if (!can_be_named(ui))
		return;
	error = explain(ui->model->rl, ui->chosen.rule, &ui->chosen.key, &explanation);
	if (error < 0) {
		say(ui, "%s", error_text(error).text);
	} else {
		free(ui->text);
		out = need(open_memstream(&ui->text, &size));
		explanation_print(out, ui->model->rl, &explanation, false);
		fclose(out);
	}
	explanation_free(&explanation);
}

/* A handle that may write, for as long as it takes; NULL after saying why not. */
static struct rl *
open_writable(struct top_ui *ui)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | RL_OPEN_ANY_OWNER};
	struct rl *rl;
	int error = rl_open(segment_name(ui->context), &options, &rl);

	if (error == 0)
		return rl;
	say(ui, "cannot change it: %s", error_text(error).text);
	return NULL;
}

/* The rule by its name: the segment may be another one of the same name by now. */
static int
find_rule(struct top_ui *ui, struct rl *rl)
{
	struct rl_rule_info info;

	return rule_read(ui->model->rl, ui->chosen.rule, &info) ? rl_find(rl, info.name) : -1;
}

void
top_act_reset(struct top_ui *ui)
{
	struct rl *rl = can_be_named(ui) ? open_writable(ui) : NULL;
	int outcome;

	if (!rl)
		return;
	outcome = rl_reset(rl, find_rule(ui, rl), ui->chosen.key.bytes, ui->chosen.key.len);
	if (outcome < 0)
		say(ui, "not reset: %s", error_text(outcome).text);
	else
		say(ui, outcome ? "reset" : "there was nothing to reset");
	rl_close(rl);
	ui->wants_look = true;
}

/* A limit with prefixes has networks for keys, and those are to be banned as such. */
static struct rl_pattern
pattern_of(const struct top_ui *ui)
{
	const struct key_view *key = &ui->chosen.key;
	struct rl_pattern exact = {RL_MATCH_KEY, key->bytes, key->len};
	struct rl_rule_info info;

	if (!rl_rule_info(ui->model->rl, ui->chosen.rule, &info) ||
	    (info.limits[0].prefix_v4 == 0 && info.limits[0].prefix_v6 == 0))
		return exact;
	return rl_pattern_of(key->bytes, key->len);
}

void
top_act_ban(struct top_ui *ui)
{
	struct rl *rl = can_be_named(ui) ? open_writable(ui) : NULL;
	struct rl_pattern pattern;
	int error;

	if (!rl)
		return;
	pattern = pattern_of(ui);
	error = (ui->is_exemption ? rl_allow : rl_ban)(rl, find_rule(ui, rl), &pattern,
	                                               rl_now(rl) + ui->ban_ns);
	if (error < 0)
		say(ui, "not %s: %s", ui->is_exemption ? "exempted" : "banned",
		    error_text(error).text);
	else
		say(ui, "%s for %s", ui->is_exemption ? "exempted" : "banned",
		    duration_format(ui->ban_ns).text);
	rl_close(rl);
	ui->wants_look = true;
}

/* Lift the bans and exemptions of the key under its rule, and those under every rule. */
void
top_act_lift(struct top_ui *ui)
{
	struct rl *rl = can_be_named(ui) ? open_writable(ui) : NULL;
	struct rl_pattern pattern;
	int own, every;

	if (!rl)
		return;
	pattern = pattern_of(ui);
	own = rl_unban(rl, find_rule(ui, rl), &pattern);
	every = rl_unban(rl, RL_ANY_RULE, &pattern);
	if (own > 0 || every > 0)
		say(ui, "lifted");
	else if (own < 0)
		say(ui, "not lifted: %s", error_text(own).text);
	else
		say(ui, "nothing stands for this key; a prefix or a network may: see bans");
	rl_close(rl);
	ui->wants_look = true;
}
