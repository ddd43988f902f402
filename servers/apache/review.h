/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_REVIEW_H
#define RL_APACHE_REVIEW_H

#include "conf.h"

/* Define it, or find one that is configured: a handle, or a negative error. */
int define_rule(struct rl *rl, const struct rule *rule, unsigned flags);

/* In the parent, before it has children. */
void review_start(apr_pool_t *pconf);

/* What is to be told of a rule that is there. */
void review_rule(struct rl *rl, const struct rule *rule, int handle);

#endif
