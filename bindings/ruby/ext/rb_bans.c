/* SPDX-License-Identifier: BSD-2-Clause */
/* Bans, exemptions, and resets of many keys. */
#include "rb_error.h"
#include "rb_rule.h"
#include "rb_value.h"
#include "rl_ruby.h"
#include "words.h"

#include <rl_admin.h>

static int
match_of(VALUE match)
{
	VALUE text = rb_obj_as_string(match);
	int number = rlb_word(rlb_matches, RSTRING_PTR(text), (unsigned long)RSTRING_LEN(text));

	if (number < 0)
		rb_raise(rb_eArgError, "match: :key, :prefix or :network, got %" PRIsVALUE,
		         rb_inspect(match));
	return number;
}

/* A pattern as [match, text]. Only a whole key may be longer than its digest. */
static struct rl_pattern
pattern_of(int match, VALUE text, struct key *key)
{
	struct rl_pattern pattern = {.match = (enum rl_match)match};

	rlr_key(text, key);
	pattern.key = key->bytes;
	pattern.key_len = key->len;
	return pattern;
}

static int
handle_of(struct rule *rule)
{
	return rule ? rlb_rule_id(&rule->segment->s, &rule->r) : RL_ANY_RULE;
}

/* A rule that cannot be found is an error, and not RL_ANY_RULE, which is -1. */
static int
found_handle(struct rule *rule)
{
	int id = handle_of(rule);

	if (rule && id < 0)
		rlr_raise(id, "rule %s", rule->r.name);
	return id;
}

typedef int (*set_fn)(struct rl *, int, const struct rl_pattern *, uint64_t);

static VALUE
set_exception(VALUE self, VALUE rule, VALUE match, VALUE text, VALUE until, set_fn set)
{
	struct segment *segment = rlr_segment(self);
	struct rule *of = rlr_rule_or_nil(rule, self);
	uint64_t until_ns = rlr_time(until, "until");
	int match_number = match_of(match), error;
	struct rl_pattern pattern;
	struct key key;

	rlr_now(segment); /* in the segment that has the name now */
	pattern = pattern_of(match_number, text, &key);
	error = set(segment->s.rl, found_handle(of), &pattern, until_ns);
	RB_GC_GUARD(key.string);
	if (error < 0)
		rlr_raise(error, "%" PRIsVALUE, rb_inspect(text));
	return Qnil;
}

static VALUE
segment_set_ban(VALUE self, VALUE rule, VALUE match, VALUE text, VALUE until)
{
	return set_exception(self, rule, match, text, until, rl_ban);
}

static VALUE
segment_set_allow(VALUE self, VALUE rule, VALUE match, VALUE text, VALUE until)
{
	return set_exception(self, rule, match, text, until, rl_allow);
}

static VALUE
segment_set_unban(VALUE self, VALUE rule, VALUE match, VALUE text)
{
	struct segment *segment = rlr_segment(self);
	struct rule *of = rlr_rule_or_nil(rule, self);
	int match_number = match_of(match), done;
	struct rl_pattern pattern;
	struct key key;

	rlr_now(segment);
	pattern = pattern_of(match_number, text, &key);
	done = rl_unban(segment->s.rl, found_handle(of), &pattern);
	RB_GC_GUARD(key.string);
	if (done < 0)
		rlr_raise(done, "%" PRIsVALUE, rb_inspect(text));
	return done ? Qtrue : Qfalse;
}

/* reset_many(rule or counters or nil, match or nil, text) => [forgotten, unknown] */
static VALUE
segment_reset_many(VALUE self, VALUE rule, VALUE match, VALUE text)
{
	struct segment *segment = rlr_segment(self);
	struct rule *of = rlr_rule_or_nil(rule, self);
	struct rl_reset_counts counts = {0};
	int match_number = NIL_P(match) ? 0 : match_of(match), error;
	struct rl_pattern pattern;
	struct key key;

	rlr_now(segment);
	if (!NIL_P(match))
		pattern = pattern_of(match_number, text, &key);
	error = rl_reset_matching(segment->s.rl, found_handle(of), NIL_P(match) ? NULL : &pattern,
	                          &counts);
	RB_GC_GUARD(key.string);
	if (error < 0)
		rlr_raise(error, "reset_matching: %" PRIsVALUE, rb_inspect(text));
	return rb_assoc_new(ULL2NUM(counts.forgotten), ULL2NUM(counts.unknown));
}

struct walk {
	struct rl *rl;
	VALUE list;
};

/* What is read of a segment is bytes that somebody has written: names may be any. */
static int
visit_ban(const struct rl_ban_info *ban, void *arg)
{
	struct walk *walk = arg;
	VALUE hash = rb_hash_new();
	struct rl_rule_info rule;

	rb_hash_aset(hash, ID2SYM(rb_intern("rule")),
	             ban->rule >= 0 && rl_rule_info(walk->rl, ban->rule, &rule) == 1
	                     ? rb_utf8_str_new_cstr(rule.name)
	                     : Qnil);
	rb_hash_aset(hash, ID2SYM(rb_intern("allow")), ban->is_exemption ? Qtrue : Qfalse);
	rb_hash_aset(hash, ID2SYM(rb_intern("match")),
	             ID2SYM(rb_intern(rlb_match((int)ban->pattern.match))));
	rb_hash_aset(hash, ID2SYM(rb_intern("key")),
	             ban->pattern.key
	                     ? rb_utf8_str_new(ban->pattern.key, (long)ban->pattern.key_len)
	                     : Qnil);
	rb_hash_aset(hash, ID2SYM(rb_intern("until_ns")), ULL2NUM(ban->until_ns));
	rb_ary_push(walk->list, hash);
	return 0;
}

static VALUE
segment_bans(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"now", NULL};
	struct segment *segment = rlr_segment(self);
	uint64_t now_ns;
	struct walk walk;
	VALUE options;

	rb_scan_args(argc, argv, "0:", &options);
	rlr_only(options, names);
	now_ns = rlr_time(rlr_get(options, "now"), "now");
	if (NIL_P(rlr_get(options, "now")))
		now_ns = rlr_now(segment);
	rlr_segment(self);
	walk = (struct walk){segment->s.rl, rb_ary_new()};
	rl_bans_walk(segment->s.rl, now_ns, visit_ban, &walk);
	return walk.list;
}

void
rlr_init_bans(void)
{
	rb_define_private_method(rlr_segment_class, "set_ban", segment_set_ban, 4);
	rb_define_private_method(rlr_segment_class, "set_allow", segment_set_allow, 4);
	rb_define_private_method(rlr_segment_class, "set_unban", segment_set_unban, 3);
	rb_define_private_method(rlr_segment_class, "reset_many", segment_reset_many, 3);
	rb_define_method(rlr_segment_class, "bans", segment_bans, -1);
}
