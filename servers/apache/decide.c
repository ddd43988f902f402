/* SPDX-License-Identifier: BSD-2-Clause */
#include "round.h"

#include <apr_strings.h>

/* Ask */

static const char *
where_of(const struct round *round, const struct decided *d)
{
	return d->limit ? d->limit->where : round->section->block->where;
}

/* What is wrong with it, in words of its place; NULL: what the error says. */
static const char *
words_of(const struct round *round, const struct decided *d, int error)
{
	struct rl_rule_info info;
	char text[RL_RULE_TEXT_SIZE];

	if (error != -EINVAL || !d->limit ||
	    rl_rule_info(store_segment(round->store), store_rule(round->store, d->rule), &info) !=
	            1 ||
	    check_limit(d->limit, &info.limits[0], 0, text) == 0)
		return NULL;
	return apr_pstrdup(round->r->pool, text);
}

/* Leave out what could not be decided. */
static void
drop_undecided(struct round *round)
{
	size_t kept = 0;

	for (size_t i = 0; i < round->count; i++) {
		if (round->results[i].verdict == RL_UNDECIDED) {
			fail(round, round->asked[i]->rule, where_of(round, round->asked[i]),
			     round->results[i].error,
			     words_of(round, round->asked[i], round->results[i].error));
			continue;
		}
		round->asked[kept] = round->asked[i];
		round->items[kept++] = round->items[i];
	}
	round->count = kept;
}

static void
keep_results(struct round *round, uint64_t now_ns)
{
	for (size_t i = 0; i < round->count; i++) {
		struct decided *d = round->asked[i];

		d->result = round->results[i];
		d->now_ns = now_ns;
		d->quota = quota_of(store_segment(round->store), &round->items[i], &d->result,
		                    &d->is_held);
		if (d->result.error == RL_EREMOVED) {
			fail(round, d->rule, where_of(round, d), RL_EREMOVED, NULL);
			store_forget_rule(round->store, d->rule);
			continue;
		}
		if (d->result.error) /* the segment's on_full has decided */
			report_undecided(round->r, d->rule, where_of(round, d), d->result.error,
			                 NULL);
		APR_ARRAY_PUSH(round->visit->decided, struct decided *) = d;
	}
}

/* The verdict of those that can be decided, and in *at who decided; RL_ALLOWED if nobody can. */
static enum rl_verdict
ask(struct round *round, size_t *at)
{
	struct rl *rl = store_segment(round->store);
	enum rl_verdict verdict = RL_ALLOWED;

	while (round->count > 0) {
		uint64_t now_ns = rl_now(rl);

		for (size_t i = 0; i < round->count; i++)
			round->items[i].now_ns = now_ns;
		verdict = rl_check_all(rl, round->items, round->count, round->results, at);
		if (verdict != RL_UNDECIDED) {
			keep_results(round, now_ns);
			break;
		}
		verdict = RL_ALLOWED;
		drop_undecided(round);
	}
	return verdict;
}

/* Settle */

/*
 * What one visit was told goes into logs and fields: the gravest, and of allowed ones the tightest.
 */
static void
note(struct round *round, enum outcome outcome, const struct decided *decisive)
{
	struct visit *visit = round->visit;

	if (outcome > visit->outcome) {
		visit->outcome = outcome;
		if (decisive || outcome >= OUTCOME_REJECTED_DRY)
			visit->decisive = decisive;
	}
	if (visit->outcome >= OUTCOME_REJECTED_DRY)
		return;
	for (size_t i = 0; i < round->count; i++) {
		const struct decided *d = round->asked[i], *least = visit->decisive;

		if (d->limit && !d->result.error &&
		    (!least || d->result.remaining < least->result.remaining))
			visit->decisive = d;
	}
}

/*
 * Blocks are for denials that say when to come back, or for those of the rules that RLBlock names.
 */
static int
blocks(const struct block *block, const struct decided *d)
{
	if (!d->limit)
		return 1;
	if (!block->by)
		return !d->is_held;
	for (int i = 0; i < block->by->nelts; i++)
		if (strcmp(APR_ARRAY_IDX(block->by, i, const char *), d->rule->name) == 0)
			return 1;
	return 0;
}

/* Ban the client anew, unless somebody has banned it for longer. Returns what it is told. */
static struct decided *
ban(struct round *round, struct decided *d)
{
	const struct block *block = round->section->block;
	struct rl *rl = store_segment(round->store);
	const char *key = d->limit ? block_key(round, block) : d->key;
	int rule = store_rule(round->store, block->rule), error = rule;
	struct rl_pattern pattern = {.match = RL_MATCH_KEY, .key = key};
	struct decided *banned;
	uint64_t until_ns;

	if (!key || (!d->limit && d->result.retry_after_ns >= block->period_ns))
		return d;
	pattern.key_len = strlen(key);
	banned = apr_pmemdup(round->visit->top->pool, d, sizeof(*d));
	banned->rule = block->rule;
	banned->limit = NULL;
	banned->now_ns = rl_now(rl);
	until_ns = banned->now_ns + block->period_ns;
	/*
	 * rl rounds it up to a millisecond: here it is rounded down, so that Retry-After is the
	 * period
	 */
	if (rule >= 0)
		error = rl_ban(rl, rule, &pattern, until_ns - until_ns % RL_MILLISECOND);
	if (error < 0) {
		report_undecided(round->r, block->rule, block->where, error, NULL);
		return d;
	}
	rl_decide(rl,
	          &(struct rl_item){.rule = rule,
	                            .key = key,
	                            .key_len = pattern.key_len,
	                            .now_ns = banned->now_ns},
	          1, RL_PEEK, 0, &banned->result, NULL);
	if (!d->limit)
		d->result = banned->result;
	else
		APR_ARRAY_PUSH(round->visit->decided, struct decided *) = banned;
	return banned;
}

/*
 * After a refusal nothing else is asked: what follows is the error document. But who refuses a
 * subrequest lets its request go on, and the next subrequest is asked again.
 */
static void
close_visit(struct round *round)
{
	round->visit->is_refused = round->r->main == NULL;
	if (!round->visit->is_refused) {
		round->visit->judged->nelts = round->judged;
		round->visit->decided->nelts = round->decided;
	}
}

static int
refuse(struct round *round, const struct decided *d)
{
	const struct section *section = round->section;
	int status = or_default(section->status, DEFAULT_STATUS);

	if (d && d->result.verdict == RL_NEVER)
		status = HTTP_FORBIDDEN; /* to come back is of no use */
	note(round, OUTCOME_REJECTED, d);
	answer_fields(round->visit, section);
	if (d && !round->r->main)
		answer_retry(round->visit, section, &d->result);
	answer_notes(round->visit, round->r);
	report_denial(round->r, round->visit, section);
	close_visit(round);
	return d ? answer_problem(round->r, section, status, d) : status;
}

static int
is_dry(const struct round *round)
{
	return or_default(round->section->is_dry_run, 0);
}

static int
deny(struct round *round, struct decided *d)
{
	if (is_dry(round)) {
		note(round, OUTCOME_REJECTED_DRY, d);
		answer_notes(round->visit, round->r);
		report_denial(round->r, round->visit, round->section);
		return DECLINED;
	}
	if (d && has_block(round->section) && d->result.verdict == RL_DENIED &&
	    blocks(round->section->block, d))
		d = ban(round, d);
	return refuse(round, d);
}

static void
settle_delay(struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->results[i].delay_ns > round->delay_ns)
			round->delay_ns = round->results[i].delay_ns;
	if (round->delay_ns == 0)
		return;
	round->visit->delay_ns = round->delay_ns;
	note(round, is_dry(round) ? OUTCOME_DELAYED_DRY : OUTCOME_DELAYED, NULL);
}

/* The limit in shadow mode that would deny the request; NULL: none. */
static const struct decided *
shadow_denial(const struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->results[i].is_shadow_denied)
			return round->asked[i];
	return NULL;
}

static void
pass(struct round *round)
{
	const struct decided *shadow = shadow_denial(round);

	hold_until_done(round->visit, round->store, round->asked, round->count);
	settle_delay(round);
	note(round, round->is_failed ? OUTCOME_ERROR : OUTCOME_PASSED, NULL);
	if (shadow)
		note(round, OUTCOME_REJECTED_DRY, shadow);
	if (!is_dry(round))
		answer_fields(round->visit, round->section);
	answer_notes(round->visit, round->r);
	if (shadow)
		report_denial(round->r, round->visit, round->section);
	else if (round->delay_ns > 0)
		report_delay(round->r, round->visit, round->section);
}

/* Undecided, and RLOnError says deny. */
static int
refuse_undecided(struct round *round)
{
	note(round, OUTCOME_ERROR, NULL);
	answer_notes(round->visit, round->r);
	close_visit(round);
	return answer_problem(round->r, round->section, HTTP_SERVICE_UNAVAILABLE, NULL);
}

static int
may_fail(const struct round *round)
{
	return !or_default(round->section->denies_on_error, 0) || is_dry(round);
}

static int
decide_round(struct round *round, int is_last)
{
	size_t at = 0;
	enum rl_verdict verdict;

	collect(round, is_last);
	if (round->is_failed && !may_fail(round))
		return refuse_undecided(round);
	if (round->refuses) {
		round->visit->reason =
			apr_pstrcat(round->visit->top->pool, "rule \"", round->refuses->name,
		                    "\": the key is empty", NULL);
		return deny(round, NULL);
	}
	if (round->count == 0 && !round->is_failed)
		return DECLINED;
	verdict = ask(round, &at);
	if (verdict != RL_ALLOWED)
		return deny(round, round->asked[at]);
	pass(round);
	return round->is_failed && !may_fail(round) ? refuse_undecided(round) : DECLINED;
}

/* Without a segment no limit is decided. */
static int
decide_nothing(struct round *round)
{
	round->visit->reason = rl_strerror(round->error);
	if (!may_fail(round))
		return refuse_undecided(round);
	note(round, OUTCOME_ERROR, NULL);
	answer_notes(round->visit, round->r);
	return DECLINED;
}

static int
is_allowed(const struct section *section, request_rec *r)
{
	for (int i = 0; section->allows && i < section->allows->nelts; i++)
		if (apr_ipsubnet_test(APR_ARRAY_IDX(section->allows, i, apr_ipsubnet_t *),
		                      r->useragent_addr))
			return 1;
	return 0;
}

/* Whether something is to be asked that was not asked for this visit. */
static int
is_due(const struct visit *visit, const struct section *section, int is_last)
{
	if (visit && visit->is_refused)
		return 0;
	if (has_block(section) && !visit_judged(visit, section->block))
		return 1;
	for (int i = 0; section->limits && i < section->limits->nelts; i++) {
		const struct limit *limit = APR_ARRAY_IDX(section->limits, i, const struct limit *);

		if ((is_last || !limit->is_late) && !visit_judged(visit, limit))
			return 1;
	}
	return 0;
}

static void
begin(struct round *round, request_rec *r, const struct section *section)
{
	memset(round, 0, offsetof(struct round, items));
	round->r = r;
	round->section = section;
	round->visit = visit_of(r, 1);
	round->judged = round->visit->judged->nelts;
	round->decided = round->visit->decided->nelts;
}

int
decide(request_rec *r, int is_last)
{
	const struct section *section = section_of(r);
	struct round round;
	int status;

	if (!is_due(visit_of(r, 0), section, is_last))
		return DECLINED;
	begin(&round, r, section);
	if (is_allowed(section, r)) {
		note(&round, OUTCOME_EXEMPT, NULL);
		answer_notes(round.visit, r);
		return DECLINED;
	}
	round.store = store_enter(r->request_time, &round.error);
	if (!round.store)
		return decide_nothing(&round);
	status = decide_round(&round, is_last);
	store_leave(round.store);
	if (status == DECLINED && round.delay_ns > 0 && !is_dry(&round))
		apr_sleep((apr_interval_time_t)((round.delay_ns + 999) / 1000));
	return status;
}
