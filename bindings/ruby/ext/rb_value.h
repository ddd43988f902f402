/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLR_VALUE_H
#define RLR_VALUE_H

/* Arguments, and what is shown as values of Ruby. */

#include <ruby.h>

#include "values.h"

struct key {
	VALUE string; /* keeps the bytes alive */
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

/* Each raises what is wrong with them by name. */
void rlr_key(VALUE value, struct key *key);
uint64_t rlr_count(VALUE value, uint64_t most, const char *what);
uint64_t rlr_duration(VALUE seconds, const char *what); /* nil is RL_NEVER_NS */
uint64_t rlr_time(VALUE time, const char *what);        /* ns, a Time, or nil: RL_NEVER_NS */
VALUE rlr_seconds(uint64_t ns);                         /* RL_NEVER_NS is Infinity */
struct rlb_value rlr_value(VALUE value);
rlb_show rlr_show;                                      /* in a Hash, which is the pointer */
VALUE rlr_get(VALUE options, const char *name);         /* nil if it is not there */
void rlr_only(VALUE options, const char *const *names); /* raises for another keyword */

#endif
