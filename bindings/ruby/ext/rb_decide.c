/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: one, several at once, and what is given back by key. */
#include <errno.h>
#include <string.h>

#include "rb_error.h"
#include "rb_result.h"
#include "rb_sleep.h"
#include "rb_value.h"
#include "rl_ruby.h"
#include "words.h"

/* What is asked, and the key's bytes for as long. */
struct ask {
	struct rule *rule;
	VALUE self, key_value;
	struct rl_item item;
	struct key key;
	int keep;          /* the charges, */
	struct kept *kept; /* here, once nothing can raise any more */
};

static const char *const check_names[] = {"capacity", "burst", "undelayed", "now", "keep", NULL};
static const char *const reserve_names[] = {"capacity", "burst",    "undelayed",
                                            "now",      "max_wait", NULL};

static void
take_capacity(VALUE options, struct rl_item *item)
{
	VALUE capacity = rlr_get(options, "capacity"), burst = rlr_get(options, "burst"),
	      undelayed = rlr_get(options, "undelayed");

	if (!NIL_P(capacity))
		item->capacity = (uint32_t)rlr_count(capacity, UINT32_MAX, "capacity");
	if (!NIL_P(burst)) {
		item->burst = (uint32_t)rlr_count(burst, UINT32_MAX, "burst");
		item->flags |= RL_ITEM_BURST;
	}
	if (!NIL_P(undelayed)) {
		item->undelayed = (uint32_t)rlr_count(undelayed, UINT32_MAX, "undelayed");
		item->flags |= RL_ITEM_UNDELAYED;
	}
}

/* nil: the segment's clock, which is read last. */
static uint64_t
take_now(VALUE now, struct segment *segment)
{
	uint64_t given_ns = rlr_time(now, "now"), now_ns = rlr_now(segment);

	return NIL_P(now) ? now_ns : given_ns;
}

/*
 * Everything but the key's bytes and the rule's handle, which handle_of() takes last: to read an
 * argument may run code of Ruby, which may change the key, and a look may change the segment.
 */
static void
take_request(int argc, VALUE *argv, VALUE self, struct ask *a, VALUE *options)
{
	VALUE cost = Qnil;

	*options = Qnil;
	if (RB_LIKELY(argc == 1))
		a->key_value = argv[0];
	else
		rb_scan_args(argc, argv, "11:", &a->key_value, &cost, options);
	a->self = self;
	a->rule = rlr_rule(self);
	a->keep = 0;
	a->kept = NULL;
	a->item = (struct rl_item){.cost = 1};
	if (!NIL_P(cost))
		a->item.cost = rlr_count(cost, UINT64_MAX, "cost");
	if (!NIL_P(*options))
		take_capacity(*options, &a->item);
	a->item.now_ns = take_now(rlr_get(*options, "now"), a->rule->segment);
}

static VALUE
result_of(struct ask *a, const struct rl_result *result)
{
	return rlr_result_new(a->self, result, a->item.now_ns, a->kept);
}

static void
keep_charges(struct ask *a)
{
	a->kept = rlr_kept_new(a->rule->segment);
	a->item.charges = rlr_kept_charges(a->kept);
}

static void
take_key(struct ask *a)
{
	rlr_key(a->key_value, &a->key);
	if (a->keep)
		keep_charges(a);
	a->item.key = a->key.bytes;
	a->item.key_len = a->key.len;
}

static int
handle_of(struct ask *a)
{
	take_key(a);
	return rlb_rule_id(&a->rule->segment->s, &a->rule->r);
}

/* Whoever changes the key's bytes meanwhile, or closes the segment. */
static void
sleep_on(struct ask *a, struct rlr_sleep *sleep, const struct rl_result *result)
{
	a->key_value = rb_str_new_frozen(a->key.string);
	rlr_key(a->key_value, &a->key);
	a->item.key = a->key.bytes;
	a->item.key_len = a->key.len;
	rlr_sleep(sleep, &a->item, 1, result);
	rlr_rule(a->self);
}

static void
check(struct ask *a, struct rl_result *result)
{
	struct rlr_sleep sleep = {0};

	take_key(a);
	a->item.flags |= RLR_SLEEPS;
	rlb_check(&a->rule->segment->s, &a->rule->r, &a->item, result);
	while (rlr_is_to_sleep(result)) {
		sleep_on(a, &sleep, result);
		rlb_check(&a->rule->segment->s, &a->rule->r, &a->item, result);
	}
	RB_GC_GUARD(a->key.string);
}

static void
decide(struct ask *a, enum rl_how how, uint64_t max_wait_ns, struct rl_result *result)
{
	take_key(a);
	rlb_decide(&a->rule->segment->s, &a->rule->r, &a->item, how, max_wait_ns, result);
	RB_GC_GUARD(a->key.string);
}

static VALUE
rule_check(int argc, VALUE *argv, VALUE self)
{
	struct rl_result result;
	VALUE options;
	struct ask a;

	take_request(argc, argv, self, &a, &options);
	if (!NIL_P(options)) {
		rlr_only(options, check_names);
		a.keep = RTEST(rlr_get(options, "keep"));
	}
	check(&a, &result);
	return result_of(&a, &result);
}

static VALUE
rule_allows(int argc, VALUE *argv, VALUE self)
{
	struct rl_result result;
	VALUE options;
	struct ask a;

	take_request(argc, argv, self, &a, &options);
	rlr_only(options, check_names);
	check(&a, &result);
	return rlr_passes(a.rule, &result) ? Qtrue : Qfalse;
}

static VALUE
rule_peek(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"now", NULL};
	struct rl_result result;
	VALUE options;
	struct ask a;

	take_request(argc, argv, self, &a, &options);
	rlr_only(options, names);
	decide(&a, RL_PEEK, 0, &result);
	return result_of(&a, &result);
}

static VALUE
rule_reserve(int argc, VALUE *argv, VALUE self)
{
	struct rl_result result;
	uint64_t max_wait_ns;
	VALUE options;
	struct ask a;

	take_request(argc, argv, self, &a, &options);
	rlr_only(options, reserve_names);
	max_wait_ns = rlr_duration(rlr_get(options, "max_wait"), "max_wait");
	a.keep = 1;
	decide(&a, RL_RESERVE, max_wait_ns, &result);
	return result_of(&a, &result);
}

static void
check_limits(struct ask *a, struct rl_result *result, size_t *count, struct rl_result *results)
{
	a->item.rule = rlb_rule_id(&a->rule->segment->s, &a->rule->r);
	if (a->item.rule < 0)
		rlb_undecided(result, a->item.rule);
	else
		rl_check_limits(a->rule->segment->s.rl, &a->item, result, count, results);
}

/* [the answer, [the answer of each limit]] */
static VALUE
rule_check_limits(int argc, VALUE *argv, VALUE self)
{
	struct rl_result result, results[RL_LIMITS_MAX];
	VALUE options, each = rb_ary_new();
	struct rlr_sleep sleep = {0};
	size_t count = 0;
	struct ask a;

	take_request(argc, argv, self, &a, &options);
	rlr_only(options, check_names);
	take_key(&a);
	a.item.flags |= RLR_SLEEPS;
	check_limits(&a, &result, &count, results);
	while (rlr_is_to_sleep(&result)) {
		sleep_on(&a, &sleep, &result);
		check_limits(&a, &result, &count, results);
	}
	RB_GC_GUARD(a.key.string);
	for (size_t i = 0; i < count; i++)
		rb_ary_push(each, result_of(&a, &results[i]));
	return rb_assoc_new(result_of(&a, &result), each);
}

/* Give back by the key: how much was given back at most by a limit. */
static VALUE
rule_refund(int argc, VALUE *argv, VALUE self)
{
	VALUE options;
	struct ask a;
	int done;

	take_request(argc, argv, self, &a, &options);
	rlr_only(options, check_names);
	a.item.rule = handle_of(&a);
	done = a.item.rule < 0 ? a.item.rule : rl_refund_key(a.rule->segment->s.rl, &a.item);
	RB_GC_GUARD(a.key.string);
	if (done < 0)
		rlr_raise(done, "refund: rule %s", a.rule->r.name);
	return INT2NUM(done);
}

/* Of a rule, or of counters. */
VALUE
rlr_reset(VALUE self, VALUE key)
{
	struct rule *rule = rlr_rule(self);
	struct key k;
	int id, done;

	rlr_key(key, &k);
	id = rlb_rule_id(&rule->segment->s, &rule->r);
	done = id < 0 ? id : rl_reset(rule->segment->s.rl, id, k.bytes, k.len);
	RB_GC_GUARD(k.string);
	if (done < 0)
		rlr_raise(done, "reset: rule %s", rule->r.name);
	return done ? Qtrue : Qfalse;
}

/* An item is [rule, key, cost or nil, keywords or nil]. */
static void
take_item(VALUE value, VALUE segment, struct ask *a)
{
	VALUE cost;

	Check_Type(value, T_ARRAY);
	a->self = rb_ary_entry(value, 0);
	if (NIL_P(a->self))
		rb_raise(rb_eArgError, "items: one has no rule");
	a->rule = rlr_rule_or_nil(a->self, segment);
	rlr_key(rb_ary_entry(value, 1), &a->key);
	a->key_value = rb_str_new_frozen(a->key.string); /* nobody changes it */
	cost = rb_ary_entry(value, 2);
	a->item = (struct rl_item){.cost = NIL_P(cost) ? 1 : rlr_count(cost, UINT64_MAX, "cost")};
	if (!NIL_P(rb_ary_entry(value, 3))) {
		Check_Type(rb_ary_entry(value, 3), T_HASH);
		take_capacity(rb_ary_entry(value, 3), &a->item);
	}
}

struct batch {
	struct ask *asks;
	struct rl_item *items;
	struct rl_result *results;
	size_t count;
	VALUE buffers[3];
};

/*
 * The whole buffer is marked, so that the values in it live, and their bytes stay where they are.
 */
static void *
make_marked(VALUE *buffer, size_t size)
{
	return rb_alloc_tmp_buffer(buffer, (long)size + 1);
}

static void
take_items(struct batch *b, VALUE segment, VALUE items, uint64_t now_ns, int keep)
{
	b->count = (size_t)RARRAY_LEN(items);
	b->asks = make_marked(&b->buffers[0], b->count * sizeof *b->asks);
	b->items = make_marked(&b->buffers[1], b->count * sizeof *b->items);
	b->results = make_marked(&b->buffers[2], b->count * sizeof *b->results);
	for (size_t i = 0; i < b->count; i++) {
		struct ask *a = &b->asks[i];

		*a = (struct ask){0};
		take_item(rb_ary_entry(items, (long)i), segment, a);
		a->item.now_ns = now_ns;
		a->item.rule = handle_of(a);
		if (a->item.rule < 0)
			rlr_raise(a->item.rule, "rule %s", a->rule->r.name);
	}
	rlr_segment(segment); /* open still */
	for (size_t i = 0; i < b->count; i++) {
		if (keep)
			keep_charges(&b->asks[i]);
		b->items[i] = b->asks[i].item;
	}
}

static VALUE
results_of(struct batch *b)
{
	VALUE results = rb_ary_new_capa((long)b->count);

	for (size_t i = 0; i < b->count; i++)
		rb_ary_push(results, result_of(&b->asks[i], &b->results[i]));
	for (int i = 0; i < 3; i++)
		rb_free_tmp_buffer(&b->buffers[i]);
	return results;
}

/* Meanwhile another thread may have closed the segment, or found another in its place. */
static void
sleep_all(struct batch *b, VALUE segment, struct rlr_sleep *sleep, const struct rl_result *result)
{
	rlr_sleep(sleep, b->items, b->count, result);
	rlr_segment(segment);
	for (size_t i = 0; i < b->count; i++) {
		b->items[i].rule = handle_of(&b->asks[i]);
		if (b->items[i].rule < 0)
			rlr_raise(b->items[i].rule, "rule %s", b->asks[i].rule->r.name);
	}
}

static enum rl_verdict
check_all(struct batch *b, VALUE segment, size_t *decided)
{
	struct rlr_sleep sleep = {0};
	enum rl_verdict verdict;

	for (size_t i = 0; i < b->count; i++)
		b->items[i].flags |= RLR_SLEEPS;
	verdict = rl_check_all(rlr_segment(segment)->s.rl, b->items, b->count, b->results, decided);
	while (verdict == RL_DENIED && rlr_is_to_sleep(&b->results[*decided])) {
		sleep_all(b, segment, &sleep, &b->results[*decided]);
		verdict = rl_check_all(rlr_segment(segment)->s.rl, b->items, b->count, b->results,
		                       decided);
	}
	return verdict;
}

/*
 * decide_all(items, now, keep, max_wait or nil) => [verdict, number of the item that decided or
 * nil, results]
 */
static VALUE
segment_decide_all(VALUE self, VALUE items, VALUE now, VALUE keep, VALUE max_wait)
{
	struct segment *segment = rlr_segment(self);
	uint64_t max_wait_ns = rlr_duration(max_wait, "max_wait"), now_ns = take_now(now, segment);
	struct batch b;
	enum rl_verdict verdict;
	size_t decided;

	Check_Type(items, T_ARRAY);
	if (RARRAY_LEN(items) < 1 || RARRAY_LEN(items) > RL_ITEMS_MAX)
		rb_raise(rb_eArgError, "items: %ld; 1 to %d are allowed", RARRAY_LEN(items),
		         RL_ITEMS_MAX);
	take_items(&b, self, items, now_ns, RTEST(keep));
	for (size_t i = 0; i < b.count; i++)
		rlb_undecided(&b.results[i], -EINVAL);
	decided = b.count;
	verdict = NIL_P(max_wait) ? check_all(&b, self, &decided)
	                          : rl_decide(segment->s.rl, b.items, b.count, RL_RESERVE,
	                                      max_wait_ns, b.results, &decided);
	return rb_ary_new_from_args(3, ID2SYM(rb_intern(rlb_verdict((int)verdict))),
	                            decided < b.count ? SIZET2NUM(decided) : Qnil, results_of(&b));
}

static VALUE
segment_decide_many(VALUE self, VALUE items, VALUE now)
{
	struct segment *segment = rlr_segment(self);
	uint64_t now_ns = take_now(now, segment);
	struct batch b;

	Check_Type(items, T_ARRAY);
	take_items(&b, self, items, now_ns, 0);
	rl_check_many(segment->s.rl, b.items, b.count, b.results);
	return results_of(&b);
}

void
rlr_init_decide(void)
{
	rb_define_method(rlr_rule_class, "check", rule_check, -1);
	rb_define_method(rlr_rule_class, "allow?", rule_allows, -1);
	rb_define_method(rlr_rule_class, "peek", rule_peek, -1);
	rb_define_method(rlr_rule_class, "reserve", rule_reserve, -1);
	rb_define_method(rlr_rule_class, "check_limits", rule_check_limits, -1);
	rb_define_method(rlr_rule_class, "refund", rule_refund, -1);
	rb_define_method(rlr_rule_class, "reset", rlr_reset, 1);
	rb_define_private_method(rlr_segment_class, "decide_all", segment_decide_all, 4);
	rb_define_private_method(rlr_segment_class, "decide_many", segment_decide_many, 2);
}
