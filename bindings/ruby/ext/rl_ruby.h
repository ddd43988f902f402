/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RUBY_H
#define RL_RUBY_H

/* The module RL: what is in C of it. All runs under the global lock of Ruby. */

#include <ruby.h>

extern VALUE rlr_module;

/* Each makes what its file has. */
void rlr_init_error(void);
void rlr_init_segment(void);
void rlr_init_rule(void);
void rlr_init_decide(void);
void rlr_init_result(void);
void rlr_init_count(void);
void rlr_init_counters(void);
void rlr_init_bans(void);
void rlr_init_info(void);
void rlr_init_http(void);

#endif
