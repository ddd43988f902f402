/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decision about one request by one set.
 *
 *	gather   each limit whose key is not empty becomes an item
 *	ask      rl_check_all(): all allow and are charged, or nothing is. A rule that cannot be
 *	         decided is left out where rl_on_error is `allow`: an error of one rule does not
 *	         switch off the others
 *	wait     nothing is decided yet, for want of a share: the set is asked again, by a timer
 *	hold     what is in flight is given back when the request's pool is destroyed, however the
 *	         request ends; what the answer does not count, when it is logged
 */
#include "ngx_rl.h"

#include <inttypes.h>
#include <stdio.h>

/* An item's key is its limit's; the arrays stay in step. */
struct ask {
	struct ngx_rl_request *request;
	struct ngx_rl_set *set;
	struct ngx_rl_handle *handle;
	size_t count;
	unsigned flags; /* of each item, beside its own */
	int has_charges;
	int error; /* of a rule that was left out, or 0 */
	struct ngx_rl_rule *error_rule;
	struct rl_result *results; /* of one: the outcome's */
	struct ngx_rl_limit *limits[RL_ITEMS_MAX];
	struct rl_item items[RL_ITEMS_MAX];
	struct rl_charges charges[RL_ITEMS_MAX];
	struct rl_result several[RL_ITEMS_MAX];
};

/* Units that a request holds. */
struct held {
	struct ngx_rl_handle *handle;
	size_t count;
	struct rl_hold holds[];
};

#define NUMBER_SHOWN 40    /* bytes of what is no number */
#define RELEASE_TRIES 1000 /* -EBUSY: others keep changing the key */

static void
release(void *data)
{
	struct held *held = data;
	int error = held->count > 0 ? -EBUSY : 0;

	for (int tries = 0; error == -EBUSY && tries < RELEASE_TRIES; tries++)
		error = rl_release(held->handle->rl, held->holds, held->count);
	if (error < 0)
		ngx_log_error(
			NGX_LOG_ERR, ngx_cycle->log, 0,
			"rl: units in flight were not given back: %s; they are when this worker "
			"ends",
			rl_strerror(error));
	ngx_rl_handle_release(held->handle);
}

static void
log_text(struct ask *ask, const struct ngx_rl_limit *limit, int error, const char *text)
{
	if (ngx_rl_report_is_new(ask->request->main, NGX_RL_REPORT_RULE(limit->rule), error))
		ngx_log_error(NGX_LOG_ERR, ask->request->log, 0, "rl: rule \"%V\": %s, in %s:%ui",
		              &limit->rule->name, text, limit->file, limit->line);
}

static void
log_error(struct ask *ask, const struct ngx_rl_limit *limit, int error)
{
	struct rl_rule_info info;
	char text[RL_RULE_TEXT_SIZE];

	if (error == -EINVAL && rl_rule_info(ask->handle->rl, limit->rule->id, &info) == 1 &&
	    ngx_rl_place_check(limit, &info.limits[0], 0, text) != NGX_OK) {
		log_text(ask, limit, error, text);
		return;
	}
	ngx_snprintf((u_char *)text, sizeof text, "%s: %s%Z", rl_strerror(error),
	             rl_error_remedy(error));
	log_text(ask, limit, error, text);
}

/* The request is not decided by this rule. */
static void
skip(struct ask *ask, struct ngx_rl_rule *rule, int error)
{
	ask->error = error;
	ask->error_rule = rule;
}

static ngx_int_t
evaluate(struct ask *ask, void *value, ngx_str_t *text)
{
	return ask->request->main->evaluate(ask->request->request, value, text);
}

/* A number that a limit takes from the request. */
struct number {
	const char *name; /* of the option */
	void *value;      /* NULL: it is not given */
	uint64_t most, none;
};

static void
log_number(struct ask *ask, const struct ngx_rl_limit *limit, const struct number *number,
           const ngx_str_t *text)
{
	char room[NGX_RL_TEXT_SIZE];

	snprintf(room, sizeof room, "%s \"%.*s\" is no number from 0 to %" PRIu64, number->name,
	         (int)ngx_min(text->len, NUMBER_SHOWN), (const char *)text->data, number->most);
	for (char *c = room; *c != '\0'; c++) /* a client may have chosen it: no line of its own */
		if ((u_char)*c < ' ' || *c == 0x7f)
			*c = '?';
	log_text(ask, limit, -EINVAL, room);
}

/*
 * `none` where the text is empty, and one with more digits than there are numbers is as good as
 * `most`. NGX_DECLINED: it is no number, or above `most`, and logged.
 */
static ngx_int_t
evaluate_number(struct ask *ask, const struct ngx_rl_limit *limit, const struct number *number,
                uint64_t *to)
{
	ngx_str_t text = ngx_null_string, significant;
	size_t digits = 0;

	*to = number->none;
	if (number->value == NULL)
		return NGX_OK;
	if (evaluate(ask, number->value, &text) != NGX_OK)
		return NGX_ERROR;
	if (text.len == 0)
		return NGX_OK;
	significant = text;
	for (; significant.len > 1 && *significant.data == '0'; significant.len--)
		significant.data++;
	while (digits < significant.len && significant.data[digits] >= '0' &&
	       significant.data[digits] <= '9')
		digits++;
	*to = number->most;
	if ((digits == significant.len && digits > 18) ||
	    ngx_rl_parse_number(&significant, number->most, to) == NGX_OK)
		return NGX_OK;
	log_number(ask, limit, number, &text);
	return NGX_DECLINED;
}

/* NGX_OK, NGX_DECLINED: the key is empty, and not limited; NGX_ERROR. */
static ngx_int_t
gather_key(struct ask *ask, const struct ngx_rl_limit *limit, struct rl_item *item)
{
	void *value = limit->key != NULL ? limit->key : limit->rule->key;
	ngx_str_t key;
	char *digest;

	if ((value != NULL ? evaluate(ask, value, &key)
	                   : ask->request->main->client(ask->request, &key)) != NGX_OK)
		return NGX_ERROR;
	item->key = key.data;
	item->key_len = key.len;
	if (key.len <= RL_KEY_MAX)
		return key.len == 0 ? NGX_DECLINED : NGX_OK;
	digest = ngx_pnalloc(ask->request->pool, RL_KEY_DIGEST_SIZE);
	if (digest == NULL)
		return NGX_ERROR;
	item->key_len = rl_key_digest(key.data, key.len, digest);
	item->key = digest;
	return NGX_OK;
}

/* NGX_OK, NGX_DECLINED: the cost or the capacity is no number; NGX_ERROR. */
static ngx_int_t
gather_numbers(struct ask *ask, const struct ngx_rl_limit *limit, struct rl_item *item)
{
	struct number cost = {"cost", limit->cost, UINT64_MAX, 1},
		      capacity = {"capacity", limit->capacity, RL_CAPACITY_MAX, 0};
	uint64_t own = 0;
	ngx_int_t rc;

	rc = evaluate_number(ask, limit, &cost, &item->cost);
	if (rc == NGX_OK)
		rc = evaluate_number(ask, limit, &capacity, &own);
	if (limit->capacity != NULL)
		item->capacity = (uint32_t)own;
	return rc;
}

/*
 * Units in flight are given back, and so is what the answer does not count, and what was charged
 * beside a rule that turns out to be removed, where an error denies.
 */
static int
needs_charges(const struct ask *ask, const struct ngx_rl_limit *limit)
{
	return (limit->rule->now.needs & RL_NEEDS_CHARGES) != 0 ||
	       (ask->set->has_answers && ngx_rl_answer_is_asked(ask->set, limit)) ||
	       ask->set->on_error == NGX_RL_ON_ERROR_DENY;
}

static void
want_charges(struct ask *ask, size_t item)
{
	ask->items[item].charges = &ask->charges[item];
	ask->has_charges = 1;
}

static ngx_int_t
gather_limit(struct ask *ask, struct ngx_rl_limit *limit)
{
	struct rl_item *item = &ask->items[ask->count];
	ngx_int_t rc;

	*item = limit->item;
	item->rule = limit->rule->id;
	item->flags |= ask->flags;
	if (needs_charges(ask, limit))
		want_charges(ask, ask->count);
	rc = gather_key(ask, limit, item);
	if (rc != NGX_OK)
		return rc == NGX_DECLINED ? NGX_OK : NGX_ERROR;
	if (limit->cost != NULL || limit->capacity != NULL)
		rc = gather_numbers(ask, limit, item);
	if (rc == NGX_ERROR)
		return NGX_ERROR;
	if (rc == NGX_DECLINED) {
		skip(ask, limit->rule, -EINVAL);
		return NGX_OK;
	}
	if (ask->handle == NULL || limit->rule->id < 0) {
		skip(ask, limit->rule,
		     ask->handle == NULL ? ask->request->main->segment.error : limit->rule->id);
		return NGX_OK;
	}
	ask->limits[ask->count++] = limit;
	return NGX_OK;
}

static ngx_int_t
gather(struct ask *ask)
{
	struct ngx_rl_limit **limits = ask->set->limits->elts;

	for (ngx_uint_t i = 0; i < ask->set->limits->nelts; i++)
		if (gather_limit(ask, limits[i]) != NGX_OK)
			return NGX_ERROR;
	return NGX_OK;
}

/* Another program has just made the rule one of units in flight: ask again, with charges. */
static int
is_without_charges(struct ask *ask, size_t item)
{
	if (ask->results[item].error != RL_ECHARGES || ask->items[item].charges != NULL)
		return 0;
	want_charges(ask, item);
	return 1;
}

static void
leave_out(struct ask *ask, size_t item)
{
	log_error(ask, ask->limits[item], ask->results[item].error);
	skip(ask, ask->limits[item]->rule, ask->results[item].error);
	ask->count--;
	for (size_t i = item; i < ask->count; i++) {
		ask->limits[i] = ask->limits[i + 1];
		ask->items[i] = ask->items[i + 1];
		if (ask->items[i].charges != NULL)
			ask->items[i].charges = &ask->charges[i];
	}
}

static enum rl_verdict
check(struct ask *ask, struct rl_result *result, size_t *decided)
{
	struct rl *rl = ask->handle->rl;

	*decided = 0;
	ask->results = ask->count == 1 ? result : ask->several;
	if (ask->count == 1)
		return rl_check_item(rl, ask->items, result);
	return rl_check_all(rl, ask->items, ask->count, ask->results, decided);
}

static int
is_denied_by_error(const struct ask *ask)
{
	return ask->error != 0 && ask->set->on_error == NGX_RL_ON_ERROR_DENY;
}

/* RL_UNDECIDED: no rule is left that can be decided, or an error denies. */
static enum rl_verdict
ask_rules(struct ask *ask, struct rl_result *result, size_t *decided)
{
	while (ask->count > 0 && !is_denied_by_error(ask)) {
		enum rl_verdict verdict = check(ask, result, decided);

		if (verdict != RL_UNDECIDED)
			return verdict;
		if (!is_without_charges(ask, *decided))
			leave_out(ask, *decided);
	}
	return RL_UNDECIDED;
}

/*
 * An answer with an error, as a full table gives it. A rule that is there no more is looked for
 * anew.
 */
static void
notice_errors(struct ask *ask)
{
	for (size_t i = 0; i < ask->count; i++) {
		int error = ask->results[i].error;

		if (error == 0)
			continue;
		log_error(ask, ask->limits[i], error);
		if (error != RL_EREMOVED)
			continue;
		skip(ask, ask->limits[i]->rule, error);
		ask->limits[i]->rule->id = error;
	}
}

static void
give_back(struct ask *ask)
{
	for (size_t i = 0; i < ask->count; i++)
		if (ask->items[i].charges != NULL)
			(void)rl_refund(ask->handle->rl, &ask->charges[i]);
}

/* What all results come to. */
struct sum {
	uint64_t delay_ns; /* the longest */
	int has_errors;
	int is_shadow_denied; /* by any */
	size_t tightest;      /* of limits that all allow, the one with the least remaining */
};

static struct sum
sum_up(const struct ask *ask)
{
	const struct rl_result *first = &ask->results[0];
	struct sum sum = {first->delay_ns, first->error, first->is_shadow_denied, 0};

	for (size_t i = 1; i < ask->count; i++) {
		const struct rl_result *result = &ask->results[i];

		sum.delay_ns = ngx_max(sum.delay_ns, result->delay_ns);
		sum.has_errors |= result->error;
		sum.is_shadow_denied |= result->is_shadow_denied;
		if (result->remaining < ask->results[sum.tightest].remaining)
			sum.tightest = i;
	}
	return sum;
}

/* What is given back later: units in flight, and what the answer does not count. */
static ngx_int_t
hold(struct ask *ask, struct ngx_rl_outcome *outcome)
{
	struct rl_hold holds[RL_ITEMS_MAX];
	ngx_pool_cleanup_t *cleanup;
	struct held *held;
	size_t count = 0;

	for (size_t i = 0; i < ask->count; i++) {
		if (ask->items[i].charges == NULL)
			ask->charges[i].count = 0;
		count += rl_holds(&ask->charges[i], holds + count, RL_ITEMS_MAX - count);
	}
	if (ngx_rl_answer_keep(ask->request->pool, ask->handle->rl, ask->set, ask->limits,
	                       ask->charges, ask->count, &outcome->kept) != NGX_OK) {
		(void)rl_release(ask->handle->rl, holds, count);
		return NGX_ERROR;
	}
	if (count == 0 && outcome->kept == NULL)
		return NGX_OK;
	cleanup = ngx_pool_cleanup_add(ask->request->pool, sizeof *held + count * sizeof *holds);
	if (cleanup == NULL) {
		(void)rl_release(ask->handle->rl, holds, count);
		return NGX_ERROR;
	}
	held = cleanup->data;
	held->handle = ask->handle;
	held->handle->users++;
	held->count = count;
	ngx_memcpy(held->holds, holds, count * sizeof *holds);
	cleanup->handler = release;
	return NGX_OK;
}

/* NGX_OK; NGX_ERROR without memory. */
static ngx_int_t
keep_answers(struct ask *ask, struct ngx_rl_outcome *outcome)
{
	struct rl_result *kept = &outcome->result;

	if (!ask->request->wants_answers || ask->count == 0)
		return NGX_OK;
	outcome->answers = &outcome->answer;
	if (ask->count > 1) {
		outcome->answers = ngx_palloc(
			ask->request->pool, ask->count * (sizeof *outcome->answers + sizeof *kept));
		if (outcome->answers == NULL)
			return NGX_ERROR;
		kept = (struct rl_result *)(outcome->answers + ask->count);
		ngx_memcpy(kept, ask->results, ask->count * sizeof *kept);
	}
	outcome->answer_count = ask->count;
	for (size_t i = 0; i < ask->count; i++)
		outcome->answers[i] = (struct ngx_rl_answer){ask->limits[i]->rule,
		                                             ask->items[i].capacity, &kept[i]};
	return NGX_OK;
}

static void
undecided(struct ask *ask, struct ngx_rl_outcome *outcome)
{
	ngx_memzero(outcome, sizeof *outcome);
	outcome->rule = ask->error_rule;
	outcome->error = ask->error;
	if (ask->error == 0)
		outcome->status = NGX_RL_NONE; /* all keys are empty */
	else if (!is_denied_by_error(ask))
		outcome->status = NGX_RL_UNDECIDED;
	else
		outcome->status = ask->set->dry_run ? NGX_RL_REJECTED_DRY_RUN : NGX_RL_REJECTED;
}

static void
allowed(const struct ask *ask, const struct sum *sum, struct ngx_rl_outcome *outcome)
{
	outcome->status = NGX_RL_PASSED;
	if (sum->delay_ns >= RL_MILLISECOND && !ask->request->is_background)
		outcome->status = ask->set->dry_run ? NGX_RL_DELAYED_DRY_RUN : NGX_RL_DELAYED;
	else if (sum->is_shadow_denied)
		outcome->status = NGX_RL_REJECTED_DRY_RUN;
	if (outcome->status == NGX_RL_DELAYED)
		outcome->delay = (ngx_msec_t)(sum->delay_ns / RL_MILLISECOND);
}

static void
begin_outcome(const struct ask *ask, size_t decided, struct ngx_rl_outcome *outcome)
{
	outcome->rule = ask->limits[decided]->rule;
	if (ask->count > 1)
		outcome->result = ask->results[decided];
	outcome->error = 0;
	outcome->delay = 0;
	outcome->answer_count = 0;
	outcome->kept = NULL;
}

static ngx_int_t
conclude_allowed(struct ask *ask, const struct sum *sum, struct ngx_rl_outcome *outcome)
{
	begin_outcome(ask, sum->tightest, outcome);
	outcome->error = ask->error; /* a denial is another rule's */
	allowed(ask, sum, outcome);
	return ask->has_charges ? hold(ask, outcome) : NGX_OK;
}

static ngx_int_t
conclude(struct ask *ask, enum rl_verdict verdict, size_t decided, struct ngx_rl_outcome *outcome)
{
	struct sum sum;

	if (verdict == RL_UNDECIDED) {
		undecided(ask, outcome);
		return NGX_OK;
	}
	sum = sum_up(ask);
	if (sum.has_errors)
		notice_errors(ask);
	if (verdict != RL_ALLOWED) {
		begin_outcome(ask, decided, outcome);
		outcome->status = ask->set->dry_run ? NGX_RL_REJECTED_DRY_RUN : NGX_RL_REJECTED;
	} else if (is_denied_by_error(ask)) { /* of a rule that was removed: it let it through */
		give_back(ask);
		undecided(ask, outcome);
	} else if (conclude_allowed(ask, &sum, outcome) != NGX_OK) {
		return NGX_ERROR;
	}
	return keep_answers(ask, outcome);
}

ngx_int_t
ngx_rl_decide(struct ngx_rl_request *request, struct ngx_rl_set *set,
              struct ngx_rl_outcome *outcome)
{
	struct ask ask; /* some 15 KiB, of which a request writes what its limits take */
	size_t decided = 0;
	enum rl_verdict verdict;
	ngx_int_t rc;

	ask.request = request;
	ask.set = set;
	ask.flags = request->is_background ? 0 : ngx_rl_wait_flags(set, outcome);
	ask.count = 0;
	ask.has_charges = 0;
	ask.error = 0;
	ask.error_rule = NULL;
	ask.handle = ngx_rl_segment_use(request->main, request->log);
	if (gather(&ask) != NGX_OK)
		return NGX_ERROR;
	verdict = ask_rules(&ask, &outcome->result, &decided);
	if (verdict == RL_DENIED &&
	    (rc = ngx_rl_wait(request->pool, &ask.results[decided], outcome)) != NGX_DECLINED)
		return rc;
	if (outcome->wait != NULL)
		ngx_rl_wait_end(outcome);
	return conclude(&ask, verdict, decided, outcome);
}
