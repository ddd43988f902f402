/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CLUSTER_VERB_H
#define RLCTL_CLUSTER_VERB_H

/* The verbs below cluster. Each has a file, cmd_cluster_<verb>.c; its operands come behind its own name. */

#include "cluster/client.h"

int cluster_status(const struct context *context, char **operands);
int cluster_hosts(const struct context *context, char **operands);
int cluster_show(const struct context *context, char **operands);
int cluster_override(const struct context *context, char **operands);
int cluster_push(const struct context *context, char **operands);
int cluster_pull(const struct context *context, char **operands);
int cluster_diff(const struct context *context, char **operands);
int cluster_reset(const struct context *context, char **operands);
int cluster_ban(const struct context *context, char **operands);
int cluster_allow(const struct context *context, char **operands);
int cluster_unban(const struct context *context, char **operands);
int cluster_forget(const struct context *context, char **operands);

#endif
