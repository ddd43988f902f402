/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_DUMP_LINE_H
#define RLCTL_DUMP_LINE_H

/*
 * A dump is JSON, one document a line:
 *
 *	{"rl_dump":1,"segment":"web","dumped_ns":N,"boot_ns":N,"layout":3,"size":{...}}
 *	{"define":"login","source":"application","limits":[{...}]}
 *	{"rule":"login","limit_number":1,"shape":{...},"key":"alice","moments":[[AT_NS,COST],...]}
 *	{"counters":"failed","key":"alice","value":3,"expires_ns":N}
 *	{"effect":"ban","rule":null,"match":"key","key":"bob","until_ns":N}
 *	{"effect":"override","rule":"login","limit_number":1,"key":"bob","capacity":20,"until_ns":N}
 *	{"rl_dump_end":true,"entries":1,"unnamed":0,"bans":1,"cells":0}
 *
 * `size` is what the segment was made with, `boot_ns` the host's clock at `dumped_ns`
 * (dump_size.h); `define` is a rule, whatever was counted under it. `cells` is how many overflow
 * counters counted something: what they count is of several keys, and not in the dump. An earlier
 * dump has none of these.
 *
 * `shape` is the limit as it was, `moments` what counted of it, oldest first; `counters` is a space
 * of counters by key, `expires_ns` null if one never does. A key that is no UTF-8 has its bytes in
 * "key_hex" as well. One whose bytes are not all kept has "truncated", or "key_id" in place of its
 * bytes, and cannot be restored. Times are Unix time, so that a dump means the same after a reboot.
 */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/output.h"
#include "dump/dump_size.h"

#define DUMP_VERSION 1

struct dump_totals {
	uint64_t entries;
	uint64_t unnamed; /* of them, cannot be restored */
	uint64_t bans;
	uint64_t cells; /* that count something, which is not in the dump */
};

json_t *dump_header(struct rl *rl);

/*
 * Or NULL for one that limits nothing, and for a space of counters: that is made as it is restored.
 */
json_t *dump_rule(struct rl *rl, int row);

/* `key` is the entry's, as it is to be written. */
json_t *dump_entry(struct rl *rl, const struct rl_entry *entry, const struct key_view *key);
json_t *dump_end(const struct dump_totals *totals);

enum dump_kind {
	DUMP_HEADER,
	DUMP_RULE,
	DUMP_ENTRY,
	DUMP_COUNTER,
	DUMP_BAN,
	DUMP_END,
};

struct dump_line {
	enum dump_kind kind;
	const char *rule;      /* or NULL; lives as long as `root` */
	struct key_view key;   /* its bytes are a copy; NULL: lost */
	struct dump_size size; /* of a header */
	bool is_configured;    /* of a rule that is defined: by a configuration */
	struct rl_limit limits[RL_LIMITS_MAX];
	size_t limit_count;
	unsigned limit_number; /* of an entry */
	struct rl_limit shape;
	struct rl_charge_entry *moments;
	size_t moment_count;
	uint64_t value;      /* of a counter by key; `rule` is its space's name */
	uint64_t expires_ns; /* RL_NEVER_NS: never */
	bool is_exemption;   /* of a ban */
	bool is_automatic;   /* likewise */
	uint32_t capacity;   /* other than 0: it is an override for a time, of limit_number */
	enum rl_match match;
	uint64_t until_ns;
	const char *reason; /* as `rule`; and what else is known of the ban, or 0 */
	uint32_t author;
	uint64_t since_ns, hits;
	struct dump_totals totals; /* of the end */
	json_t *root;
};

/* NULL, or in a few words what is wrong with the text. To be freed in either case. */
const char *dump_parse(const char *text, size_t len, struct dump_line *line);
void dump_line_free(struct dump_line *line);

#endif
