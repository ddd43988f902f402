/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RULE_H
#define RLCTL_RULE_H

#include <rl_admin.h>
#include <stdbool.h>

/* The words by which the command line, output and JSON know an algorithm. */
const char *algorithm_name(enum rl_algorithm algorithm);

/* False if there is no algorithm of that name. */
bool algorithm_find(const char *name, enum rl_algorithm *algorithm);

/* rl_rule_info(), but a rule whose name is damaged is called by its place: "#3". */
bool rule_read(struct rl *rl, int id, struct rl_rule_info *info);

#endif
