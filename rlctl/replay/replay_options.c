/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a replay, for rl-replay and for the help of rlctl, which runs it. */

#include "base/command.h"
#include "replay/detect.h"

const struct command_option replay_options[] = {
	{"limit", 'l', "RATE",
         "a limit such as 5/min or 300/5min, as in a configuration; again: "
         "tried beside it"},
	{"rule", 'r', "RULE", "a rule of the configuration; again: tried beside it"},
	{"config", 'C', "FILE", "the configuration (default: /etc/rl/rl.json)"},
	{"algorithm", 'a', "ALGORITHM", "default: sliding_window"},
	{"capacity", 'c', "N", "in place of --limit: requests admitted in a window"},
	{"burst", 'b', "N",
         "token_bucket: tokens held, default the capacity; leaky_bucket: may wait"},
	{"window", 'w', "D", "length of the window, as in 500ms, 10s, 5m, 1h, 1d"},
	{"granularity", 'g', "D", "length of a sub-bucket; default: the window"},
	{"hard", 0, NULL, "count the oldest sub-bucket in full"},
	{"suggest", 0, NULL, "which capacity per --window would leave how many keys alone"},
	{"format", 'f', FORMAT_NAMES, "default: auto"},
	{"log-format", 0, "TEXT", "the format as nginx or Apache has it in its configuration"},
	{"key", 'k', "FIELD,...", "whom the limit counts; default: client"},
	{"where", 0, "TEST", "only such requests, as 'status = 401'; again: and such"},
	{"since", 0, "TIME", "only requests from then on, as 2026-12-24T18:00Z"},
	{"until", 0, "TIME", "only requests before it"},
	{"since-change", 0, "N",
         "--rule before and after change N of 'config history', from then on"},
	{"cost", 0, "FIELD", "what a request costs; default: 1"},
	{"actual", 0, "FIELD", "what it has cost in the end: --cost is an estimate"},
	{"lasts", 0, "FIELD", "--actual: so many seconds later; default: at once"},
	{"time", 0, "FIELD", "the member of a JSON line that is its time"},
	{"as-is", 0, NULL, "decide requests in the order in which they stand"},
	{"origin", 'o', "epoch|first", "where windows start from; default: epoch"},
	{"top", 't', "N", "most limited keys to show; default: 10"},
	{"local", 0, NULL, "show local time"},
	{"verdicts", 0, NULL, "write a line for each request instead of a report"},
	{"follow", 'F', NULL, "go on with what is written to the logs, until an interrupt"},
	{"late", 0, "D", "--follow: how long a request waits for earlier ones; default: 10s"},
	{0},
};
