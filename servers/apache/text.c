/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <apr_strings.h>

int
read_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	return rlb_word_number(text, strlen(text), least, most, value) == 0;
}

static const char *
add_limit(apr_pool_t *pool, struct rule *rule, const struct rlb_limit *limit)
{
	if (rule->limit_count == RL_LIMITS_MAX)
		return apr_psprintf(pool, "more than %d limits", RL_LIMITS_MAX);
	rule->limits[rule->limit_count] = limit->limit;
	rule->said[rule->limit_count++] = *limit;
	return NULL;
}

static const char *
read_option(apr_pool_t *pool, struct rule *rule, const char *word)
{
	struct rlb_limit *limit = &rule->said[rule->limit_count - 1];
	char text[RLB_TEXT_SIZE];

	if (rlb_word_of_limit(word, limit, text) < 0)
		return apr_psprintf(pool, "in \"%s\": %s", word, text);
	rule->limits[rule->limit_count - 1] = limit->limit;
	return NULL;
}

static const char *
read_word(apr_pool_t *pool, struct rule *rule, const char *word)
{
	struct rlb_limit limit;
	int begins = rlb_word_begins(word, &limit);

	if (begins > 0)
		return add_limit(pool, rule, &limit);
	if (begins < 0)
		return apr_psprintf(
			pool, "no limit: \"%s\"; 5/min, 20/s, 300/5min or in_flight=3 are some",
			word);
	if (rule->limit_count == 0)
		return apr_psprintf(pool, "a limit such as 5/min comes first, not \"%s\"", word);
	return read_option(pool, rule, word);
}

const char *
read_limits(apr_pool_t *pool, struct rule *rule, int count, char *const words[])
{
	const char *wrong = NULL;

	rule->limit_count = 0;
	for (int i = 0; i < count && !wrong; i++)
		wrong = read_word(pool, rule, words[i]);
	return wrong || rule->limit_count > 0
	               ? wrong
	               : "a limit is missing: 5/min, 20/s, in_flight=3, or the word configured";
}

const char *
complete_limits(apr_pool_t *pool, struct rule *rule)
{
	char text[RLB_TEXT_SIZE];

	for (size_t i = 0; !rule->is_box && i < rule->limit_count; i++) {
		if (rlb_limit_finish(&rule->said[i], server_conf->options.ring, text) < 0)
			return apr_pstrcat(pool, rule->defined, ": RLRule ", rule->name, ": ", text,
			                   NULL);
		rule->limits[i] = rule->said[i].limit;
	}
	return NULL;
}

const char *
place_of(cmd_parms *cmd)
{
	return apr_psprintf(cmd->pool, "%s:%u", cmd->directive->filename, cmd->directive->line_num);
}

const char *
bad_word(cmd_parms *cmd, const char *word, const char *why)
{
	return apr_psprintf(cmd->pool, "%s: bad value or unknown word \"%s\"%s%s", cmd->cmd->name,
	                    word, *why ? ": " : "", why);
}
