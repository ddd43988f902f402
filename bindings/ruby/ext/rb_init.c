/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension rl/rl_ext: what is in C of the module RL. */
#include "rb_result.h"
#include "rl_ruby.h"

VALUE rlr_module, rlr_segment_class, rlr_rule_class, rlr_counters_class, rlr_result_class;

void Init_rl_ext(void) __attribute__((visibility("default")));

void
Init_rl_ext(void)
{
	rlr_module = rb_define_module("RL");
	rb_define_const(rlr_module, "NEVER_NS", ULL2NUM(RL_NEVER_NS));
	rlr_init_error();
	rlr_init_segment();
	rlr_init_rule();
	rlr_init_decide();
	rlr_init_result();
	rlr_init_counters();
	rlr_init_bans();
	rlr_init_info();
	rlr_init_http();
}
