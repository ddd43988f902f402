/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/limit.h"
#include "text/calendar.h"
#include "text/digits.h"
#include "text/duration.h"
#include "text/names.h"

#define YEAR_NS (UINT64_C(366) * 86400 * RL_SECOND)
#define FILL_YEARS_MAX 100
#define GRANULARITY_DEFAULT 60
#define EARLY_SHARE 4 /* a hard limit that denies such a part of its window early is warned of */
#define BURST_MAX (RL_CAPACITY_MAX - 1) /* a leaky bucket holds one more */

#define SHARE_GRANULARITY_MAX 8 /* of a cluster's limit, */
#define SHARE_WIDTH_MIN (125 * RL_MILLISECOND)
#define SHARE_FILL_MAX (UINT64_C(1) << 50)
#define PERCENT (UINT64_C(1) << 32) /* a blind part in 1/1000 percent, and not in units */
#define PERCENT_MAX (100 * UINT64_C(1000))
#define AUTO_PART 20                /* of the capacity one, that all hosts admit blind: "auto" */
#define BLIND_LONG (PERCENT | 1000) /* of a limit that cannot be "auto" */

/* The words that may stand behind the stroke of "100/min" or "300/5min", besides a duration. */
static const struct {
	const char *name;
	uint64_t ns;
} periods[] = {
	{"s", RL_SECOND},           {"sec", RL_SECOND},         {"second", RL_SECOND},
	{"m", 60 * RL_SECOND},      {"min", 60 * RL_SECOND},    {"minute", 60 * RL_SECOND},
	{"h", 3600 * RL_SECOND},    {"hour", 3600 * RL_SECOND}, {"d", 86400 * RL_SECOND},
	{"day", 86400 * RL_SECOND},
};

static const char *
period_parse(const char *text, uint64_t *ns)
{
	const char *name = text;
	uint64_t count = 1;

	if (*text >= '0' && *text <= '9' && !number_read(&name, &count))
		return "is too long";
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
		if (strcmp(periods[i].name, name) == 0)
			return __builtin_mul_overflow(count, periods[i].ns, ns) ? "is too long"
			                                                        : NULL;
	return duration_parse(text, ns);
}

bool
limit_rate_parse(const char *text, uint64_t *capacity, uint64_t *window_ns)
{
	return text && number_read(&text, capacity) && *text == '/' &&
	       period_parse(text + 1, window_ns) == NULL && *capacity >= 1 &&
	       *capacity <= RL_CAPACITY_MAX && *window_ns >= RL_WINDOW_MIN &&
	       *window_ns <= RL_WINDOW_MAX;
}

/* Report a window that the calendar would have to tell the length of. */
static bool
is_of_calendar(struct reader *reader, struct node node, const char *window)
{
	const char *why = window ? calendar_refuse(window) : NULL;

	if (why)
		report_value(reader->report, CONFIG_ERROR, node.token, "%s: %s",
		             report_got(reader->report, node.token).text, why);
	return why != NULL;
}

static void
read_window(struct reader *reader, const struct field *field, struct node node,
            struct value *values)
{
	if (is_of_calendar(reader, node, json_string_value(node.json)))
		value_set(reader, values, field->id,
		          (struct value){.token = node.token, .is_bad = true});
	else
		read_duration(reader, field, node, values);
}

static void
report_rate(struct reader *reader, const struct field *field, struct node node)
{
	const char *text = json_string_value(node.json), *stroke = text ? strchr(text, '/') : NULL;

	if (!is_of_calendar(reader, node, stroke))
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "expected a rate such as \"100/min\" or \"5/10s\", from %" PRIu64
		             " to %" PRIu64 " per 10ms to 400d, got %s",
		             field->least, field->most,
		             report_got(reader->report, node.token).text);
}

static void
read_rate(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	struct value capacity = {.token = node.token}, window = {.token = node.token};

	if (!limit_rate_parse(json_string_value(node.json), &capacity.number, &window.number)) {
		report_rate(reader, field, node);
		capacity.is_bad = window.is_bad = true;
	}
	value_set(reader, values, LIMIT_capacity, capacity);
	value_set(reader, values, LIMIT_window_ns, window);
}

static void
read_granularity(struct reader *reader, const struct field *field, struct node node,
                 struct value *values)
{
	static const struct field step = {"granularity", read_duration, LIMIT_STEP, 1,
	                                  RL_WINDOW_MAX, NULL};

	if (json_is_string(node.json))
		read_duration(reader, &step, node, values);
	else
		read_count(reader, field, node, values);
}

static void
read_algorithm(struct reader *reader, const struct field *field, struct node node,
               struct value *values)
{
	const char *names[ALGORITHM_NAMES_MAX + 1], *name = json_string_value(node.json);
	struct field with_names = *field;
	enum rl_algorithm algorithm;

	algorithm_names(~0U, names);
	with_names.words = names;
	read_word(reader, &with_names, node, values);
	if (name &&
	    algorithm_find(name, &algorithm)) /* its number, and not its place in the list */
		values[field->id].number = (uint64_t)algorithm;
}

/* "5%" or "0.25%", in thousandths. */
static bool
percent_parse(const char *text, uint64_t *thousandths)
{
	uint64_t whole, part = 0, unit = 1000;

	if (!text || !number_read(&text, &whole) || whole > 100)
		return false;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++) {
			unit /= 10;
			part += (uint64_t)(*text - '0') * unit;
		}
	*thousandths = whole * 1000 + part;
	return strcmp(text, "%") == 0 && *thousandths > 0 && *thousandths <= PERCENT_MAX;
}

static void
read_blind(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	const char *text = json_string_value(node.json);
	uint64_t thousandths;

	if (!text) {
		read_count(reader, field, node, values);
		return;
	}
	if (strcmp(text, "auto") == 0) {
		value_set(reader, values, field->id,
		          (struct value){.token = node.token, .number = RL_BLIND_AUTO});
		return;
	}
	if (percent_parse(text, &thousandths)) {
		value_set(reader, values, field->id,
		          (struct value){.token = node.token, .number = PERCENT | thousandths});
		return;
	}
	report_value(
		reader->report, CONFIG_ERROR, node.token,
		"expected an integer, \"auto\", or a part of the capacity such as \"5%%\", got %s",
		report_got(reader->report, node.token).text);
	value_set(reader, values, field->id, (struct value){.token = node.token, .is_bad = true});
}

/* "20ms"; "none": nobody waits. */
static void
read_wait(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	const char *text = json_string_value(node.json);

	if (text && strcmp(text, "none") == 0)
		value_set(reader, values, field->id,
		          (struct value){.token = node.token, .number = RL_WAIT_NONE});
	else
		read_duration(reader, field, node, values);
}

const struct field shape_fields[] = {
	{"time_window_sec", read_seconds, LIMIT_window_ns, RL_WINDOW_MIN, RL_WINDOW_MAX, NULL},
	{"window", read_window, LIMIT_window_ns, RL_WINDOW_MIN, RL_WINDOW_MAX, NULL},
	{"capacity", read_count, LIMIT_capacity, 1, RL_CAPACITY_MAX, NULL},
	{"limit", read_rate, LIMIT_capacity, 1, RL_CAPACITY_MAX, NULL},
	{"algorithm", read_algorithm, LIMIT_algorithm, 0, 0, NULL},
	{"granularity", read_granularity, LIMIT_granularity, 1, RL_GRANULARITY_MAX, NULL},
	{"granularity_sec", read_seconds, LIMIT_STEP, 1, RL_WINDOW_MAX, NULL},
	{"hard", read_flag, LIMIT_hard, 0, 0, NULL},
	{0},
};

/* By what the list says of it. */
static void
read_listed(struct reader *reader, const struct field *field, struct node node,
            struct value *values)
{
	const struct rl_field *listed = rl_field(RL_OF_LIMIT, (size_t)field->id);
	struct field with_words = *field;

	with_words.words = listed->words;
	if (field->id == LIMIT_blind)
		read_blind(reader, field, node, values);
	else if (field->id == LIMIT_wait_ns)
		read_wait(reader, field, node, values);
	else if (listed->words)
		read_word(reader, &with_words, node, values);
	else if (listed->kind == RL_FIELD_FLAG)
		read_flag(reader, field, node, values);
	else if (listed->kind == RL_FIELD_DURATION)
		read_duration(reader, field, node, values);
	else
		read_count(reader, field, node, values);
}

/* What the tables above and below have is found there. */
const struct field limit_fields[] = {
#define RL_LIMIT_FIELD(name, word, kind, least, most, unit, needs, words, zero, marks, ...) \
	{(marks)&RL_FIELD_NETWORK ? "" : word, read_listed, LIMIT_##name, least, most, NULL},
#include <rl_limit_fields.def>
#undef RL_LIMIT_FIELD
	{"strict", read_flag, LIMIT_STRICT, 0, 0, NULL},
	{0},
};

const struct field prefix_fields[] = {
#define RL_LIMIT_FIELD(name, word, kind, least, most, unit, needs, words, zero, marks, ...) \
	{(marks)&RL_FIELD_NETWORK ? word : "", read_listed, LIMIT_##name, least, most, NULL},
#include <rl_limit_fields.def>
#undef RL_LIMIT_FIELD
	{0},
};

void
limit_inherit(struct value *values, const struct value *base)
{
	bool has_steps = values[LIMIT_granularity].token || values[LIMIT_STEP].token;

	for (int i = 0; i < LIMIT_IDS; i++) {
		if (has_steps && (i == LIMIT_granularity || i == LIMIT_STEP))
			continue;
		if (values[i].token == 0)
			values[i] = base[i];
	}
}

static bool
is_given(const struct value *value)
{
	return value->token > 0 && !value->is_bad;
}

static bool
is_missing(struct reader *reader, uint32_t owner, const struct value *value, const char *what)
{
	if (value->token == 0)
		report_name(reader->report, CONFIG_ERROR, owner, "has no %s", what);
	return !is_given(value);
}

/* "token_bucket and leaky_bucket" */
struct names_text {
	char text[128];
};

static struct names_text
names_of(unsigned flag)
{
	const char *names[ALGORITHM_NAMES_MAX + 1];
	struct names_text out = {""};

	algorithm_names(flag, names);
	for (size_t i = 0; names[i]; i++) {
		size_t used = strlen(out.text);

		snprintf(out.text + used, sizeof(out.text) - used, "%s%s",
		         i == 0         ? ""
		         : names[i + 1] ? ", "
		                        : " and ",
		         names[i]);
	}
	return out;
}

/* Report a field that the algorithm has no use for; one that says what is so anyway is fine. */
static bool
is_misplaced(struct reader *reader, const struct value *value, uint64_t idle, unsigned flag,
             enum rl_algorithm algorithm)
{
	if (algorithm_info(algorithm)->flags & flag || !is_given(value) || value->number == idle)
		return false;
	report_name(reader->report, CONFIG_ERROR, value->token, "is for %s, not for %s",
	            names_of(flag).text, algorithm_name(algorithm));
	return true;
}

static bool
has_misplaced(struct reader *reader, const struct value *v, enum rl_algorithm a)
{
	const struct rl_field *field;
	bool is_wrong = is_misplaced(reader, &v[LIMIT_STEP], v[LIMIT_window_ns].number,
	                             RL_HAS_GRANULARITY, a);

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (field->needs && i != LIMIT_window_ns) /* has_window_in_flight() */
			is_wrong |= is_misplaced(reader, &v[i], i == LIMIT_granularity,
			                         field->needs, a);
	return is_wrong;
}

/* A concurrency limit has no window, its own or the rule's. */
static bool
has_window_in_flight(struct reader *reader, const struct value *window, enum rl_algorithm algorithm)
{
	if (!(algorithm_info(algorithm)->flags & RL_IS_HELD) || !is_given(window))
		return false;
	report_name(reader->report, CONFIG_ERROR, window->token,
	            "is not for %s, which has no window", algorithm_name(algorithm));
	return true;
}

static void
report_step(struct reader *reader, uint32_t token, uint64_t window_ns, uint64_t step_ns)
{
	if (window_ns % step_ns != 0)
		report_name(reader->report, CONFIG_ERROR, token,
		            "%s does not divide the window of %s", duration_format(step_ns).text,
		            duration_format(window_ns).text);
	else
		report_name(reader->report, CONFIG_ERROR, token,
		            "divides the window of %s into %" PRIu64
		            " sub-buckets; at most %d are possible",
		            duration_format(window_ns).text, window_ns / step_ns,
		            RL_GRANULARITY_MAX);
}

static bool
says_steps(const struct value *v)
{
	return is_given(&v[LIMIT_granularity]) || is_given(&v[LIMIT_STEP]);
}

/* Lengths of a sub-bucket that people would choose are whole multiples of it. */
static uint64_t
unit_of(uint64_t window_ns)
{
	if (window_ns >= 60 * RL_SECOND)
		return RL_SECOND;
	return window_ns >= 60 * RL_MILLISECOND ? RL_MILLISECOND : RL_MILLISECOND / 1000;
}

uint32_t
limit_granularity(uint64_t window_ns, uint32_t most)
{
	uint32_t best = most < GRANULARITY_DEFAULT ? most : GRANULARITY_DEFAULT;

	for (uint32_t n = best; n > best / 2; n--)
		if (window_ns % (n * unit_of(window_ns)) == 0)
			return n;
	return best;
}

uint64_t
limit_early_ns(const struct rl_limit *limit)
{
	return limit->hard ? limit->window_ns / limit->granularity : 0;
}

static bool
is_of_cluster(const struct value *v)
{
	return is_given(&v[LIMIT_scope]) && v[LIMIT_scope].number == RL_SCOPE_CLUSTER;
}

/* How many sub-buckets a cluster's window may have, but no fewer than one. */
static uint32_t
steps_of_share(uint64_t window_ns)
{
	uint64_t most = window_ns / SHARE_WIDTH_MIN;

	if (most > SHARE_GRANULARITY_MAX)
		return SHARE_GRANULARITY_MAX;
	return most > 0 ? (uint32_t)most : 1;
}

/* Number of sub-buckets; 0 if the length of one does not suit the window. */
static uint32_t
count_steps(struct reader *reader, const struct value *v)
{
	const struct value *count = &v[LIMIT_granularity], *step = &v[LIMIT_STEP];
	uint64_t window_ns = v[LIMIT_window_ns].number;

	if (!says_steps(v))
		return limit_granularity(window_ns, is_of_cluster(v) ? steps_of_share(window_ns)
		                                                     : reader->ring);
	if (!is_given(step))
		return (uint32_t)count->number;
	if (is_given(count))
		report_name(reader->report, CONFIG_ERROR, step->token,
		            "says again what \"granularity\" says");
	else if (window_ns % step->number != 0 || window_ns / step->number > RL_GRANULARITY_MAX)
		report_step(reader, step->token, window_ns, step->number);
	else
		return (uint32_t)(window_ns / step->number);
	return 0;
}

/* A bucket must not take longer to fill than its arithmetic reaches. */
static bool
is_fillable(struct reader *reader, uint32_t owner, const struct rl_limit *limit,
            const struct value *burst)
{
	unsigned __int128 fill_ns = ((unsigned __int128)limit->burst + 1) * limit->window_ns;

	if (!(algorithm_info(limit->algorithm)->flags & RL_HAS_BURST))
		return true;
	if (fill_ns <= (unsigned __int128)(FILL_YEARS_MAX * YEAR_NS) * limit->capacity)
		return true;
	report_name(reader->report, CONFIG_ERROR, burst->token ? burst->token : owner,
	            "a burst of %" PRIu32 " takes more than %d years to come back at %" PRIu32
	            " per %s",
	            limit->burst, FILL_YEARS_MAX, limit->capacity,
	            duration_format(limit->window_ns).text);
	return false;
}

static bool
suits_algorithm(struct reader *reader, uint32_t owner, const struct value *v,
                const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = algorithm_info(limit->algorithm);

	if (limit->capacity > info->capacity_max && info->flags & RL_IS_HELD) {
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_capacity].token,
		            "an %s limit admits at most %" PRIu32 ", not %" PRIu32, info->name,
		            info->capacity_max, limit->capacity);
		return false;
	}
	if (limit->capacity > info->capacity_max) {
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_capacity].token,
		            "a %s remembers each request, at most %" PRIu32 " of them, not %" PRIu32
		            "; use sliding_window",
		            info->name, info->capacity_max, limit->capacity);
		return false;
	}
	if (limit->undelayed > limit->burst) {
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_undelayed].token,
		            "%" PRIu32 " of a burst of %" PRIu32 " cannot go without delay",
		            limit->undelayed, limit->burst);
		return false;
	}
	return is_fillable(reader, owner, limit, &v[LIMIT_burst]);
}

/* The units that a process may leave idle are a small part of a window. */
static bool
suits_prefetch(struct reader *reader, const struct value *v, const struct rl_limit *limit)
{
	uint32_t alone = limit->capacity / RL_PREFETCH_PART, most = alone / limit->granularity;
	uint32_t token = v[LIMIT_prefetch].token;

	if (limit->prefetch == 0 ||
	    (limit->prefetch <= most && !limit->shadow && !limit->count_denied))
		return true;
	if (limit->shadow)
		report_name(reader->report, CONFIG_ERROR, token,
		            "is not for a shadow, which enforces nothing");
	else if (limit->count_denied)
		report_name(reader->report, CONFIG_ERROR, token,
		            "is not for a limit that counts what it denies");
	else if (limit->granularity == 1)
		report_name(reader->report, CONFIG_ERROR, token,
		            "%u is too much for a capacity of %" PRIu32 ", which allows %" PRIu32,
		            (unsigned)limit->prefetch, limit->capacity, most);
	else
		report_name(reader->report, CONFIG_ERROR, token,
		            "%u is too much for a capacity of %" PRIu32 " and %" PRIu32
		            " sub-buckets, which allow %" PRIu32
		            "; a \"granularity\" of 1 allows %" PRIu32,
		            (unsigned)limit->prefetch, limit->capacity, limit->granularity, most,
		            alone);
	return false;
}

static uint32_t
number_or_0(const struct value *value)
{
	return is_given(value) ? (uint32_t)value->number : 0;
}

static bool
has_bad(const struct value *values)
{
	for (int i = 0; i < LIMIT_IDS; i++)
		if (values[i].is_bad)
			return true;
	return false;
}

/*
 * An estimate admits a scanner of 20 requests a second up to 25 above 300 in 5 minutes even with 60
 * sub-buckets, and 256 with one: who does not choose gets what is never above.
 */
static bool
is_hard(const struct value *v, enum rl_algorithm algorithm)
{
	if (v[LIMIT_hard].token > 0)
		return number_or_0(&v[LIMIT_hard]) != 0;
	return algorithm_info(algorithm)->flags & RL_HAS_GRANULARITY && !says_steps(v);
}

static void
warn_early(struct reader *reader, uint32_t owner, const struct value *v,
           const struct rl_limit *limit)
{
	if (!limit->hard || limit->granularity > EARLY_SHARE)
		return;
	report_name(reader->report, CONFIG_WARNING,
	            v[LIMIT_hard].token ? v[LIMIT_hard].token : owner,
	            "may deny up to %s early, with a granularity of %" PRIu32 "; %s",
	            duration_format(limit_early_ns(limit)).text, limit->granularity,
	            says_steps(v) ? "a greater one makes it less"
	                          : "a larger \"ring\" of the segment has room for more");
}

bool
limit_follows_hosts(const struct rl_limit *limit)
{
	struct rl_rule rule = {.name = "r", .limit = *limit};

	rule.limit.blind = RL_BLIND_AUTO;
	return rl_rule_check(&rule, NULL, NULL, 0) != -EINVAL;
}

static uint32_t
blind_of(const struct value *v, const struct rl_limit *limit)
{
	uint64_t blind = is_given(&v[LIMIT_blind])    ? v[LIMIT_blind].number
	                 : limit_follows_hosts(limit) ? RL_BLIND_AUTO
	                                              : BLIND_LONG;
	uint64_t part = (blind & (PERCENT - 1)) * limit->capacity / PERCENT_MAX;

	if (number_or_0(&v[LIMIT_STRICT]) != 0)
		return 0;
	if (!(blind & PERCENT))
		return (uint32_t)blind;
	return part > 0 ? (uint32_t)part : 1;
}

/* Fields that only a limit of a cluster has; "strict": false says what is so anyway. */
static bool
has_share_fields(struct reader *reader, const struct value *v)
{
	const struct rl_field *field;
	bool has = false;

	for (size_t i = 0; i < LIMIT_IDS; i++) {
		field = rl_field(RL_OF_LIMIT, i);
		if (!is_given(&v[i]) || (i == LIMIT_STRICT && v[i].number == 0) ||
		    !(i == LIMIT_STRICT || (field && field->marks & RL_FIELD_CLUSTER)))
			continue;
		report_name(reader->report, CONFIG_ERROR, v[i].token,
		            "is for a limit with \"scope\": \"cluster\"");
		has = true;
	}
	return has;
}

/* Is it one of this host that can be none of a cluster? */
static bool
is_of_host_alone(const struct rl_limit *l)
{
	struct rl_rule rule = {.name = "r", .limit = *l};

	rule.limit.blind = 0;
	rule.limit.away = 0;
	rule.limit.scope = RL_SCOPE_HOST;
	if (rl_rule_check(&rule, NULL, NULL, 0) < 0)
		return false;
	rule.limit.scope = RL_SCOPE_CLUSTER;
	return rl_rule_check(&rule, NULL, NULL, 0) == -EINVAL;
}

/* A field of it that a limit of a cluster has not; NULL: none. */
static const struct rl_field *
field_of_host(const struct rl_limit *limit)
{
	static const struct rl_limit nothing;

	return limit_difference(limit, &nothing, RL_FIELD_HOST);
}

/* Why the algorithm, or what else the limit has, has no room for a share. NULL: it has. */
static const char *
share_refused(const struct rl_limit *l)
{
	unsigned flags = algorithm_info(l->algorithm)->flags;
	unsigned __int128 size = (uint64_t)l->burst + (flags & RL_HAS_UNDELAYED ? 1 : 0);

	if (flags & RL_IS_HELD)
		return "in_flight: what is held is each host's own";
	if (l->algorithm == RL_ANCHORED_WINDOW)
		return "anchored_window: its windows begin at other times on other hosts";
	if (flags & RL_HAS_GRANULARITY && l->granularity > SHARE_GRANULARITY_MAX)
		return "more than 8 sub-buckets; \"granularity\": 8";
	if (flags & RL_IS_WINDOW && l->window_ns / l->granularity < SHARE_WIDTH_MIN)
		return "sub-buckets of less than 125ms; a longer window or fewer of them";
	if (flags & RL_IS_BUCKET &&
	    size * l->window_ns > (unsigned __int128)SHARE_FILL_MAX * l->capacity)
		return "a bucket that takes more than 13 days to fill";
	if (is_of_host_alone(l))
		return "its algorithm, which has no room for a share";
	return NULL;
}

static bool
suits_scope(struct reader *reader, const struct value *v, const struct rl_limit *limit)
{
	const char *refused;
	uint32_t token = v[LIMIT_scope].token;

	if (!is_of_cluster(v))
		return !has_share_fields(reader, v);
	refused = share_refused(limit);
	if (!reader->has_cluster)
		report_name(reader->report, CONFIG_ERROR, token,
		            "\"cluster\" needs a \"cluster\" beside \"rules\", which says what "
		            "store the hosts share");
	else if (field_of_host(limit))
		report_name(reader->report, CONFIG_ERROR, token,
		            "\"cluster\" is not for a limit with \"%s\"",
		            field_of_host(limit)->word);
	else if (refused)
		report_name(reader->report, CONFIG_ERROR, token, "\"cluster\" is not for %s",
		            refused);
	else if (number_or_0(&v[LIMIT_STRICT]) != 0 && is_given(&v[LIMIT_blind]) &&
	         v[LIMIT_blind].number > 0)
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_blind].token,
		            "is not for a strict limit, which admits nothing without a share");
	else if (limit->blind > limit->capacity && limit->blind != RL_BLIND_AUTO)
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_blind].token,
		            "is more than the capacity of %" PRIu32, limit->capacity);
	else if (limit->blind == RL_BLIND_AUTO && !limit_follows_hosts(limit))
		report_name(reader->report, CONFIG_ERROR, v[LIMIT_blind].token,
		            "is not \"auto\" for a window longer than 10m, nor for a bucket that "
		            "takes longer to fill: a host that has just come would have to be "
		            "quiet for as long; a number");
	else
		return true;
	return false;
}

/* As it was read. What is no number of its field's is left out, and set by limit_finish(). */
static struct rl_limit
limit_of(const struct value *v)
{
	const struct rl_field *field;
	struct rl_limit limit = {.capacity = 0};

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if (is_given(&v[i]))
			rl_field_set(field, &limit, v[i].number);
	return limit;
}

bool
limit_finish(struct reader *reader, uint32_t owner, const struct value *v, struct rl_limit *limit)
{
	enum rl_algorithm algorithm = (enum rl_algorithm)number_or_0(&v[LIMIT_algorithm]);
	unsigned flags = algorithm_info(algorithm)->flags;
	bool lacks_capacity = is_missing(
		reader, owner, &v[LIMIT_capacity],
		flags & RL_IS_HELD ? "capacity"
				   : "capacity; \"limit\": \"100/min\" says it with its window");
	bool lacks_window = !(flags & RL_IS_HELD) &&
	                    is_missing(reader, owner, &v[LIMIT_window_ns],
	                               "window; \"window\": \"1m\" or \"time_window_sec\": 60");

	if (lacks_capacity || lacks_window || has_bad(v) || has_misplaced(reader, v, algorithm) ||
	    has_window_in_flight(reader, &v[LIMIT_window_ns], algorithm))
		return false;
	*limit = limit_of(v);
	limit->granularity = flags & RL_HAS_GRANULARITY ? count_steps(reader, v) : 1;
	limit->hard = is_hard(v, algorithm);
	if (flags & RL_BURST_IS_CAPACITY && limit->burst == 0)
		limit->burst =
			limit->capacity < RL_CAPACITY_MAX ? limit->capacity : RL_CAPACITY_MAX - 1;
	limit->blind = is_of_cluster(v) ? blind_of(v, limit) : 0;
	if (limit->granularity == 0 || !suits_algorithm(reader, owner, v, limit) ||
	    !suits_prefetch(reader, v, limit) || !suits_scope(reader, v, limit))
		return false;
	warn_early(reader, owner, v, limit);
	return true;
}

static struct rl_rule
rule_of(const struct rl_limit *limit, uint32_t capacity)
{
	struct rl_rule rule = {.name = "limit", .limit = *limit};

	rule.limit.capacity = capacity;
	return rule;
}

uint32_t
limit_entries_for(const struct rl_limit *limit, uint32_t capacity)
{
	struct rl_rule rule = rule_of(limit, capacity);

	return capacity > 0 ? rl_rule_ring(&rule) : 0;
}

uint32_t
limit_entries(const struct rl_limit *limit)
{
	return limit_entries_for(limit, limit->capacity);
}

bool
limit_fits(const struct rl_limit *limit, uint32_t capacity, uint32_t ring)
{
	const struct rl_options options = {.ring = ring, .flags = RL_OPEN_CLUSTER};
	struct rl_rule rule = rule_of(limit, capacity);

	return capacity == 0 || rl_rule_check(&rule, &options, NULL, 0) != RL_ERING;
}

uint64_t
limit_blind_of_all(const struct rl_limit *limit, uint64_t hosts)
{
	uint64_t parts = 1;

	if (limit->blind != RL_BLIND_AUTO)
		return hosts * limit->blind;
	while (parts < hosts)
		parts *= 2;
	return hosts * (limit->capacity / AUTO_PART / parts);
}

const struct rl_field *
limit_difference(const struct rl_limit *a, const struct rl_limit *b, unsigned marks)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++)
		if ((marks == 0 || field->marks & marks) &&
		    rl_field_get(field, a) != rl_field_get(field, b))
			break;
	return field;
}
