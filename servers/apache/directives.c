/* SPDX-License-Identifier: BSD-2-Clause */
/* The directives, each in a function that stores what it says or tells what is wrong with it. */
#include "segment.h"
#include "text.h"

#include <apr_strings.h>
#include <http_log.h>
#include <rl_http.h>

#define BOX_RULE "block" /* RLBlock's, unless rule= says another */

/* The names that rl_define() takes. */
static const char *
check_name(cmd_parms *cmd, const char *name)
{
	size_t len = strlen(name);
	size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                           "0123456789._-:/");

	if (len > 0 && len <= RL_NAME_MAX && good == len)
		return NULL;
	return apr_psprintf(
		cmd->pool, "%s: \"%s\" is no name of a rule: 1 to %d letters, digits and . _ - : /",
		cmd->cmd->name, name, RL_NAME_MAX);
}

/* In <Limit> and <LimitExcept> it would hold for each method: they are sections for Require. */
static const char *
check_methods(cmd_parms *cmd)
{
	const char *wrong = ap_check_cmd_context(cmd, NOT_IN_LIMIT);

	return wrong ? apr_pstrcat(cmd->pool, wrong,
	                           "; RLLimit's if= tells methods apart, or <If> does", NULL)
	             : NULL;
}

static struct rule *
use_rule(cmd_parms *cmd, const char *name)
{
	struct rule *rule = rule_named(cmd->pool, name);

	if (!rule->used)
		rule->used = place_of(cmd);
	return rule;
}

/* RLRule */

static const char *
words_of(cmd_parms *cmd, int argc, char *const argv[])
{
	const char *text = "";

	for (int i = 0; i < argc; i++)
		text = apr_pstrcat(cmd->pool, text, " ", argv[i], NULL);
	return text;
}

static const char *
set_rule(cmd_parms *cmd, void *section, int argc, char *const argv[])
{
	const char *wrong = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
	struct rule said = {0}, *rule;

	(void)section;
	if (wrong)
		return wrong;
	if (argc < 2)
		return "RLRule needs a name, and limits or the word configured";
	wrong = check_name(cmd, argv[0]);
	if (wrong)
		return wrong;
	said.is_configured = argc == 2 && strcmp(argv[1], "configured") == 0;
	if (!said.is_configured)
		wrong = read_limits(cmd->pool, &said, argc - 1, argv + 1);
	if (wrong)
		return apr_pstrcat(cmd->pool, "RLRule ", argv[0], ": ", wrong, NULL);
	said.text = words_of(cmd, argc - 1, argv + 1);
	rule = rule_named(cmd->pool, argv[0]);
	if (rule->defined && (rule->is_box || strcmp(rule->text, said.text) != 0))
		return apr_psprintf(cmd->pool, "RLRule %s: defined at %s, with other limits",
		                    argv[0], rule->defined);
	rule->defined = place_of(cmd);
	rule->text = said.text;
	rule->is_configured = said.is_configured;
	rule->limit_count = said.limit_count;
	memcpy(rule->said, said.said, sizeof(said.said));
	memcpy(rule->limits, said.limits, sizeof(said.limits));
	return NULL;
}

/* RLLimit */

/* An expression whose value is a text, or true and false; *wrong gets what is wrong with it. */
static const ap_expr_info_t *
parse_expr(cmd_parms *cmd, const char *text, int is_text, const char **wrong)
{
	unsigned flags = AP_EXPR_FLAG_DONT_VARY | (is_text ? AP_EXPR_FLAG_STRING_RESULT : 0);
	const char *error = NULL;
	const ap_expr_info_t *expr = ap_expr_parse_cmd(cmd, text, flags, &error, NULL);

	if (error)
		*wrong = apr_psprintf(cmd->pool, "%s: in the expression \"%s\": %s", cmd->cmd->name,
		                      text, error);
	return expr;
}

static int
read_empty(const char *text, struct limit *limit)
{
	static const char *const words[] = {"error", "allow", "deny"};

	for (int i = 0; i < 3; i++)
		if (strcmp(text, words[i]) == 0) {
			limit->empty = i;
			return 1;
		}
	return 0;
}

static int
read_item_number(const char *text, struct limit *limit, unsigned flag, uint32_t *to)
{
	uint64_t n;

	if (!read_number(text, 0, RL_CAPACITY_MAX - 1, &n))
		return 0;
	limit->flags |= flag;
	*to = (uint32_t)n;
	return 1;
}

/* `delay` and `nodelay` as nginx has them: how many of the burst need not wait. */
static int
read_wait(const char *word, struct limit *limit)
{
	const char *v;

	if ((v = rlb_word_value(word, "burst")))
		return read_item_number(v, limit, RL_ITEM_BURST, &limit->burst);
	if ((v = rlb_word_value(word, "delay")))
		return read_item_number(v, limit, RL_ITEM_UNDELAYED, &limit->undelayed);
	if (strcmp(word, "nodelay") != 0 || !(limit->flags & RL_ITEM_BURST))
		return 0;
	limit->flags |= RL_ITEM_UNDELAYED;
	limit->undelayed = limit->burst;
	return 1;
}

/* A number, which a text without a variable has to be now. */
static const ap_expr_info_t *
parse_number(cmd_parms *cmd, const char *text, uint64_t least, uint64_t most, uint64_t *number,
             const char **wrong)
{
	*number = 0;
	if (!strchr(text, '%') && !read_number(text, least, most, number))
		*wrong = apr_psprintf(cmd->pool,
		                      "RLLimit: \"%s\" is no whole number from %" APR_UINT64_T_FMT
		                      " to %" APR_UINT64_T_FMT,
		                      text, (apr_uint64_t)least, (apr_uint64_t)most);
	return *wrong ? NULL : parse_expr(cmd, text, 1, wrong);
}

static void
set_key(cmd_parms *cmd, struct limit *limit, const char *text, const char **wrong)
{
	limit->key_text = text;
	limit->key = parse_expr(cmd, text, 1, wrong);
}

static void
set_refund(cmd_parms *cmd, struct limit *limit, const char *text, int counts_if, const char **wrong)
{
	if (limit->refund)
		*wrong = "RLLimit: one count_if=, or one refund_if=";
	limit->counts_if = counts_if;
	if (!*wrong)
		limit->refund = parse_expr(cmd, text, 0, wrong);
}

/* 1 stored, or *wrong says what is wrong; 0: no word of RLLimit. */
static int
read_limit_word(cmd_parms *cmd, struct limit *limit, const char *word, const char **wrong)
{
	uint64_t n = 0;
	const char *v;

	if ((v = rlb_word_value(word, "key")))
		set_key(cmd, limit, v, wrong);
	else if ((v = rlb_word_value(word, "cost")))
		limit->cost = parse_number(cmd, v, 0, COST_MAX, &n, wrong);
	else if ((v = rlb_word_value(word, "capacity"))) {
		limit->capacity = parse_number(cmd, v, 1, RL_CAPACITY_MAX, &n, wrong);
		limit->fixed_capacity = (uint32_t)n;
	} else if ((v = rlb_word_value(word, "if"))) {
		limit->condition_text = v;
		limit->condition = parse_expr(cmd, v, 0, wrong);
	} else if ((v = rlb_word_value(word, "count_if")))
		set_refund(cmd, limit, v, 1, wrong);
	else if ((v = rlb_word_value(word, "refund_if")))
		set_refund(cmd, limit, v, 0, wrong);
	else if ((v = rlb_word_value(word, "empty")))
		return read_empty(v, limit);
	else if (strcmp(word, "late") == 0)
		limit->is_late = 1;
	else
		return read_wait(word, limit);
	return 1;
}

static const char *
read_limit(cmd_parms *cmd, struct limit *limit, int argc, char *const argv[])
{
	const char *wrong = check_name(cmd, argv[0]);

	if (wrong)
		return wrong;
	limit->rule = use_rule(cmd, argv[0]);
	limit->where = place_of(cmd);
	limit->key_text = "";
	for (int i = 1; i < argc && !wrong; i++) {
		int is_word = read_limit_word(cmd, limit, argv[i], &wrong);

		if (!is_word && i == 1 && !strchr(argv[i], '='))
			set_key(cmd, limit, argv[i], &wrong);
		else if (!is_word)
			return bad_word(cmd, argv[i], "");
	}
	if (!wrong && limit->flags == (RL_ITEM_BURST | RL_ITEM_UNDELAYED) &&
	    limit->undelayed > limit->burst)
		return "RLLimit: delay= is above burst=";
	return wrong;
}

/* One that asks under another condition is another. */
static const char *
check_twice(cmd_parms *cmd, const struct section *section, const struct limit *limit)
{
	const char *condition = limit->condition_text ? limit->condition_text : "";

	for (int i = 0; section->limits && i < section->limits->nelts; i++) {
		const struct limit *other = APR_ARRAY_IDX(section->limits, i, const struct limit *);

		if (says_the_same(other, limit) &&
		    strcmp(other->condition_text ? other->condition_text : "", condition) == 0)
			return apr_pstrcat(cmd->pool, "RLLimit ", limit->rule->name,
			                   ": it stands in this section already, with the same "
			                   "key, at ",
			                   other->where, NULL);
	}
	return NULL;
}

static const char *
set_limit(cmd_parms *cmd, void *to, int argc, char *const argv[])
{
	struct section *section = to;
	struct limit *limit = apr_pcalloc(cmd->pool, sizeof(*limit));
	const char *wrong = check_methods(cmd);

	if (wrong)
		return wrong;
	if (argc < 1)
		return "RLLimit needs the name of a rule, or off";
	if (argc == 1 && strcmp(argv[0], "off") == 0) {
		section->drops_limits = 1;
		return NULL;
	}
	wrong = read_limit(cmd, limit, argc, argv);
	if (!wrong)
		wrong = check_twice(cmd, section, limit);
	if (wrong)
		return wrong;
	if (!section->limits)
		section->limits = apr_array_make(cmd->pool, 2, sizeof(struct limit *));
	APR_ARRAY_PUSH(section->limits, struct limit *) = limit;
	APR_ARRAY_PUSH(server_conf->limits, struct limit *) = limit;
	return NULL;
}

/* RLSettle RULE cost=EXPR */
static const char *
set_settle(cmd_parms *cmd, void *to, const char *rule, const char *cost)
{
	struct section *section = to;
	struct settle *settle = apr_pcalloc(cmd->pool, sizeof(*settle));
	const char *wrong = check_methods(cmd), *text = rlb_word_value(cost, "cost");

	if (!wrong)
		wrong = check_name(cmd, rule);
	if (!wrong && !text)
		return bad_word(cmd, cost, "");
	if (!wrong)
		settle->cost = parse_expr(cmd, text, 1, &wrong);
	if (wrong)
		return wrong;
	settle->rule = use_rule(cmd, rule);
	if (!section->settles)
		section->settles = apr_array_make(cmd->pool, 2, sizeof(struct settle *));
	APR_ARRAY_PUSH(section->settles, struct settle *) = settle;
	return NULL;
}

/* RLBlock */

/* The rule whose bans they are counts nothing: it is looked at with a cost of 0. */
static struct rule *
use_box(cmd_parms *cmd, const char *name)
{
	struct rule *rule = use_rule(cmd, name);

	if (rule->defined)
		return rule;
	rule->defined = rule->used;
	rule->is_box = 1;
	rule->limit_count = 1;
	rule->limits[0] = (struct rl_limit){
		.algorithm = RL_FIXED_WINDOW, .capacity = RL_CAPACITY_MAX, .window_ns = RL_SECOND};
	return rule;
}

static const char *
read_block_word(cmd_parms *cmd, struct block *block, const char *word, const char **box)
{
	const char *wrong = NULL, *v;

	if ((v = rlb_word_value(word, "key"))) {
		block->key = parse_expr(cmd, v, 1, &wrong);
		return wrong;
	}
	if ((v = rlb_word_value(word, "rule"))) {
		*box = v;
		return check_name(cmd, v);
	}
	v = rlb_word_value(word, "by");
	if (!v)
		return bad_word(cmd, word, "");
	if (!block->by)
		block->by = apr_array_make(cmd->pool, 2, sizeof(const char *));
	APR_ARRAY_PUSH(block->by, const char *) = v;
	use_rule(cmd, v);
	return check_name(cmd, v);
}

static const char *
set_block(cmd_parms *cmd, void *to, int argc, char *const argv[])
{
	struct section *section = to;
	struct block *block = apr_pcalloc(cmd->pool, sizeof(*block));
	const char *wrong = check_methods(cmd), *box = BOX_RULE;

	if (wrong)
		return wrong;
	if (argc == 1 && strcmp(argv[0], "off") == 0) {
		section->block = &no_block;
		return NULL;
	}
	if (argc < 1 || rlb_word_duration(argv[0], &block->period_ns) < 0)
		return "RLBlock needs a period such as 10s, or off";
	for (int i = 1; i < argc && !wrong; i++)
		wrong = read_block_word(cmd, block, argv[i], &box);
	if (wrong)
		return wrong;
	block->where = place_of(cmd);
	block->rule = use_box(cmd, box);
	section->block = block;
	server_conf->has_block = 1;
	return NULL;
}

/* RLAllow */

/* An address, a network, the beginning of one ("10.1"), or that with stars ("10.1.*.*"). */
static const char *
add_network(cmd_parms *cmd, apr_array_header_t *allows, const char *word)
{
	char *text = apr_pstrdup(cmd->pool, word), *slash = strchr(text, '/'),
	     *star = strstr(text, ".*");
	apr_ipsubnet_t *subnet;

	if (slash)
		*slash++ = '\0';
	if (star && strspn(star, ".*") == strlen(star))
		*star = '\0';
	if (apr_ipsubnet_create(&subnet, text, slash, cmd->pool) != APR_SUCCESS)
		return apr_psprintf(cmd->pool, "RLAllow: \"%s\" is no address and no network",
		                    word);
	APR_ARRAY_PUSH(allows, apr_ipsubnet_t *) = subnet;
	return NULL;
}

static const char *
set_allow(cmd_parms *cmd, void *to, const char *word)
{
	struct section *section = to;
	const char *wrong = check_methods(cmd);

	if (wrong)
		return wrong;
	if (strcmp(word, "off") == 0) {
		section->drops_allows = 1;
		return NULL;
	}
	if (!section->allows)
		section->allows = apr_array_make(cmd->pool, 4, sizeof(apr_ipsubnet_t *));
	return add_network(cmd, section->allows, word);
}

/* What is one value */

static const char *
set_status(cmd_parms *cmd, void *to, const char *word)
{
	uint64_t n;

	if (!read_number(word, 400, 599, &n))
		return bad_word(cmd, word, "");
	((struct section *)to)->status = (int)n;
	return NULL;
}

static const char *
set_dry_run(cmd_parms *cmd, void *to, int is_on)
{
	((struct section *)to)->is_dry_run = is_on;
	return check_methods(cmd);
}

static const char *
set_problem(cmd_parms *cmd, void *to, int is_on)
{
	(void)cmd;
	((struct section *)to)->has_problem = is_on;
	return NULL;
}

static const char *
set_log_level(cmd_parms *cmd, void *to, const char *word)
{
	return ap_parse_log_level(word, &((struct section *)to)->log_level)
	               ? bad_word(cmd, word, "")
	               : NULL;
}

static const char *
set_on_error(cmd_parms *cmd, void *to, const char *word)
{
	struct section *section = to;

	if (strcmp(word, "allow") != 0 && strcmp(word, "deny") != 0)
		return bad_word(cmd, word, "");
	section->denies_on_error = *word == 'd';
	return NULL;
}

static const char *
set_headers(cmd_parms *cmd, void *to, int argc, char *const argv[])
{
	static const struct {
		const char *word;
		int fields;
	} words[] = {
		{"off", 0},
		{"x", FIELDS_X | FIELDS_RETRY},
		{"x-unix", FIELDS_X_UNIX | FIELDS_RETRY},
		{"retry-after", FIELDS_RETRY},
	};
	struct section *section = to;

	section->fields = 0;
	for (int i = 0; i < argc; i++) {
		int set = rl_http_set(argv[i]);
		size_t j = 0;

		if (set >= 0 && section->fields & FIELDS_IETF)
			return "RLHeaders: two forms of the same fields; choose one";
		if (set >= 0) {
			section->fields |= FIELDS_IETF | FIELDS_RETRY | set << FIELDS_SET;
			continue;
		}
		while (j < sizeof(words) / sizeof(*words) && strcmp(argv[i], words[j].word) != 0)
			j++;
		if (j == sizeof(words) / sizeof(*words) || (j == 0 && argc > 1))
			return bad_word(cmd, argv[i], "");
		section->fields |= words[j].fields;
	}
	if ((section->fields & FIELDS_X) && (section->fields & FIELDS_X_UNIX))
		return "RLHeaders: x and x-unix are the same fields; choose one";
	return argc ? NULL : "RLHeaders needs off, ietf, ietf-7, x, x-unix or retry-after";
}

static const char *
set_prefix(cmd_parms *cmd, void *to, const char *v4, const char *v6)
{
	struct section *section = to;
	uint64_t four, six;

	if (!read_number(v4, 1, 32, &four))
		return bad_word(cmd, v4, "");
	if (!read_number(v6, 1, 128, &six))
		return bad_word(cmd, v6, "");
	section->prefix_v4 = (int)four;
	section->prefix_v6 = (int)six;
	return NULL;
}

#define ANYWHERE (RSRC_CONF | ACCESS_CONF)

const command_rec directives[] = {
	AP_INIT_TAKE_ARGV("RLSegment", set_segment, NULL, RSRC_CONF,
                          "NAME [keys=N] [ring=N] [key_bytes=N] [rules=N] [overrides=N] [bans=N] "
                          "[holders=N] [cells=N] [reserves=N] [events=N] [changes=N] "
                          "[buffer=DURATION] [on_full=reserve|deny|allow] [mode=OCTAL] "
                          "[group=NAME|off] "
                          "[existing] [huge_pages] [populate]: the segment that counts"),
	AP_INIT_TAKE_ARGV(
		"RLRule", set_rule, NULL, RSRC_CONF,
		"NAME LIMIT [OPTION...] [LIMIT [OPTION...]...], or NAME configured: a rule"),
	AP_INIT_TAKE_ARGV(
		"RLLimit", set_limit, NULL, ANYWHERE,
		"RULE [KEY] [cost=EXPR] [capacity=EXPR] [burst=N] [delay=N|nodelay] [if=EXPR] "
		"[count_if=EXPR | refund_if=EXPR] [empty=error|allow|deny] [late], or off: limit "
		"requests here"),
	AP_INIT_TAKE2("RLSettle", set_settle, NULL, ANYWHERE,
                      "RULE cost=EXPR: what a request has cost, when it is over"),
	AP_INIT_TAKE_ARGV("RLBlock", set_block, NULL, ANYWHERE,
                          "PERIOD [key=EXPR] [rule=NAME] [by=RULE...], or off: who is denied is "
                          "banned, and each "
                          "further request restarts the period"),
	AP_INIT_ITERATE("RLAllow", set_allow, NULL, ANYWHERE,
                        "ADDRESS|NETWORK..., or off: clients that are not limited"),
	AP_INIT_TAKE1("RLStatus", set_status, NULL, ANYWHERE, "400..599: of a denial"),
	AP_INIT_FLAG("RLDryRun", set_dry_run, NULL, ANYWHERE, "on: count and log, deny nobody"),
	AP_INIT_TAKE1("RLLogLevel", set_log_level, NULL, ANYWHERE,
                      "the level of denials in the error log"),
	AP_INIT_TAKE_ARGV("RLHeaders", set_headers, NULL, ANYWHERE,
                          "off, or ietf, x, x-unix, retry-after: the fields that answers have"),
	AP_INIT_FLAG("RLProblem", set_problem, NULL, ANYWHERE,
                     "on: who is refused gets a body of problem+json"),
	AP_INIT_TAKE1("RLOnError", set_on_error, NULL, ANYWHERE,
                      "allow or deny: requests that cannot be decided"),
	AP_INIT_TAKE2("RLClientPrefix", set_prefix, NULL, ANYWHERE,
                      "V4 V6: how many leading bits of an address make a client"),
	{.name = NULL},
};
