/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_HEADERS_H
#define RLB_HEADERS_H

/* The header fields of an answer about one rule: what rl_http.h writes, all at once. */

#include <rl_admin.h>
#include <rl_http.h>

#define RLB_FIELD_SIZE 256
#define RLB_FIELDS 6

struct rlb_field {
	const char *name; /* "Retry-After" */
	const char *value;
};

struct rlb_headers {
	unsigned count; /* fields that are to be sent */
	struct rlb_field field[RLB_FIELDS];
	char retry_after[RL_HTTP_SECONDS_SIZE];
	char policy[RLB_FIELD_SIZE], ratelimit[RLB_FIELD_SIZE];
	struct rl_http_triple triple;
};

/* How they are written; zero is the default. */
struct rlb_how {
	enum rl_http_set set;
	enum rl_http_reset reset;
};

/*
 * Of a result of the rule with handle `id`. The quota of its policy is the limit told; of a bucket,
 * the capacity that the rule has now. 0, or -EINVAL.
 */
int rlb_headers(struct rl *rl, int id, const char *name, const struct rl_result *result,
                uint64_t now_ns, struct rlb_how how, struct rlb_headers *headers);

/*
 * The body of a refusal by the rule of that name, of the type RL_HTTP_PROBLEM_TYPE; without a
 * result, that nothing could be decided. Its length, or -EINVAL: the status is none.
 */
ssize_t rlb_problem(const char *name, const struct rl_result *result, unsigned status,
                    char to[RL_HTTP_PROBLEM_SIZE]);

#endif
