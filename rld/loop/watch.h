/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_WATCH_H
#define RLD_WATCH_H

/*
 * A look at the counters now and again: how many decisions a second, and what somebody should
 * know of. A warning is given once a minute at most, with all that came since the last. What cannot
 * have happened (metrics.h) is no number to tell: that the statistics are damaged is, once. What
 * another process has changed in the configuration is told, for there is no other trace of it.
 *
 * While the table is nearly full, who takes it is looked for, too: one network, or one rule of
 * several, that has more than WATCH_SHARE per cent of the used slots is told once, and again only
 * after it had less than WATCH_SHARE_LOW. The line about a network is for programs to act on:
 * rld(8), systemd/fail2ban.
 */

#include <apply/rules_seen.h>
#include <rl_admin.h>
#include <share/share.h>
#include <stdbool.h>

#include "base/log.h"

#define WATCH_TEXT 128
#define WATCH_SHARE 50
#define WATCH_SHARE_LOW 40

/* The counts of a rule's row, and which rule it was: a row may become another's. */
struct watch_row {
	int rule;
	uint64_t counters[RL_COUNTERS];
};

struct watch {
	struct rl *rl;
	uint64_t looked_ns; /* monotonic */
	struct watch_row *rows;
	uint32_t row_count;
	uint64_t seen[RL_COUNTERS];     /* moved since the start, as far as that can be */
	uint64_t reported[RL_COUNTERS]; /* of that, when last warned of */
	bool is_damaged;                /* something moved that cannot, and that was told */
	struct log_pace pace[RL_COUNTERS];
	bool is_nearly_full;
	char reported_network[SHARE_NETWORK_TEXT]; /* that takes more than its share; "" none */
	int reported_rule;                         /* the same; -1 none */
	struct log_pace network_pace, rule_pace;
	struct rules_seen rules;
};

void watch_start(struct watch *watch, struct rl *rl, uint64_t now_ns);

void watch_end(struct watch *watch);

/* The rules are as this daemon has made them: nothing to tell. */
void watch_rules(struct watch *watch);

/* Look, warn, and say in `text` how it stands: keys, fill, rate. */
void watch_look(struct watch *watch, uint64_t used, uint64_t now_ns, char text[static WATCH_TEXT]);

#endif
