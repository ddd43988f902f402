/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RUBY_H
#define RL_RUBY_H

/* What the files of the extension share. All of it runs under Ruby's global lock. */

#include <ruby.h>

#include "segment.h"
#include "values.h"

/* What a request is told that could not be decided. */
enum on_error {
	ON_ERROR_RAISE,
	ON_ERROR_ALLOW,
	ON_ERROR_DENY
};

struct segment {
	struct rlb_segment s;
	enum on_error on_error;
	int warned;          /* the trouble that was warned of last */
	unsigned references; /* the object, and each request that keeps its charges */
};

/* A rule, or a space of counters. */
struct rule {
	VALUE self_segment; /* keeps it alive */
	struct segment *segment;
	struct rlb_rule r;
};

struct key {
	VALUE string; /* keeps the bytes alive */
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

extern VALUE rlr_module, rlr_segment_class, rlr_rule_class, rlr_counters_class, rlr_result_class;

/* rb_error.c */
NORETURN(void rlr_raise(int error, const char *format, ...));
NORETURN(void rlr_raise_text(int error, const char *text));
void rlr_init_error(void);

/* rb_value.c: arguments. Each raises what is wrong with them by name. */
void rlr_key(VALUE value, struct key *key);
uint64_t rlr_count(VALUE value, uint64_t most, const char *what);
uint64_t rlr_duration(VALUE seconds, const char *what); /* nil is RL_NEVER_NS */
uint64_t rlr_time(VALUE time, const char *what);        /* ns, a Time, or nil: RL_NEVER_NS */
VALUE rlr_seconds(uint64_t ns);                         /* RL_NEVER_NS is Infinity */
struct rlb_value rlr_value(VALUE value);
rlb_show rlr_show;                                      /* in a Hash, which is the pointer */
VALUE rlr_get(VALUE options, const char *name);         /* nil if it is not there */
void rlr_only(VALUE options, const char *const *names); /* raises for another keyword */

/* rb_segment.c */
struct segment *rlr_segment(VALUE self); /* open, or it raises */
struct segment *rlr_segment_any(VALUE self);
void rlr_segment_drop(struct segment *segment); /* a reference; calls nothing of Ruby's */
void rlr_look(struct segment *segment);         /* open afterwards, or it raises */
NORETURN(void rlr_closed(void));
void rlr_init_segment(void);

/*
 * Now, in the segment that has the name now. Arguments are read before it: to read one may run code
 * of Ruby, which may close the segment. So may a warning; then it raises.
 */
static inline uint64_t
rlr_now(struct segment *segment)
{
	uint64_t now_ns;

	if (RB_UNLIKELY(!segment->s.rl))
		rlr_closed();
	now_ns = rl_now(segment->s.rl);
	if (RB_UNLIKELY(now_ns >= segment->s.look_ns)) {
		rlr_look(segment);
		now_ns = rl_now(segment->s.rl);
	}
	return now_ns;
}

/* rb_rule.c */
struct rule *rlr_rule(VALUE self);                       /* of a segment that is open */
struct rule *rlr_rule_or_nil(VALUE self, VALUE segment); /* NULL for nil */
VALUE rlr_space_new(VALUE klass, VALUE segment, VALUE name, int is_made);
void rlr_init_rule(void);

/* rb_decide.c */
VALUE rlr_reset(VALUE self, VALUE key);
void rlr_init_decide(void);

/* rb_result.c */
struct kept; /* charges */
struct rl_charges *rlr_kept_charges(struct kept *kept);
struct kept *rlr_kept_new(struct segment *segment);
VALUE rlr_result_new(VALUE self_rule, const struct rl_result *result, uint64_t now_ns,
                     struct kept *kept);
int rlr_passes(struct rule *rule, const struct rl_result *result);
void rlr_init_result(void);

/* rb_count.c */
VALUE rlr_count_new(int done, const struct rl_count *count);
void rlr_init_count(void);

/* rb_counters.c, rb_bans.c, rb_info.c, rb_http.c */
void rlr_init_counters(void);
void rlr_init_bans(void);
void rlr_init_info(void);
void rlr_init_http(void);

#endif
