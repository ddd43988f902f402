/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fields SEGMENT RULE KEY [RULE KEY...]: the fields that rl_http.h makes of a look at these rules,
 * one a line. The quota is that of the rule's first limit.
 */
#include <rl_admin.h>
#include <rl_http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 16

static void
show(const char *name, ssize_t len, const char *value)
{
	if (len > 0)
		printf("%s: %s\n", name, value);
}

static struct rl_http_policy
policy_of(struct rl *rl, int rule, const char *name, const struct rl_result *result)
{
	struct rl_rule_info info;

	if (rl_rule_info(rl, rule, &info) != 1)
		exit(2);
	return (struct rl_http_policy){
		.name = name,
		.quota = info.limits[0].capacity,
		.window_ns = result->window_ns,
		.unit = info.limits[0].algorithm == RL_IN_FLIGHT ? "concurrent-requests" : NULL};
}

static void
show_last(const struct rl_result *result, uint64_t now_ns)
{
	struct rl_http_triple triple;
	char value[RL_HTTP_SECONDS_SIZE];

	show("Retry-After", rl_http_retry_after(result, value, sizeof(value)), value);
	for (int is_unix = 0; is_unix < 2; is_unix++) {
		rl_http_x_ratelimit(result, is_unix ? RL_HTTP_RESET_UNIX : RL_HTTP_RESET_DELTA,
		                    now_ns, &triple);
		printf("%sX-RateLimit: %s %s %s\n", is_unix ? "Unix-" : "", triple.limit,
		       triple.remaining, triple.reset);
	}
}

int
main(int argc, char **argv)
{
	struct rl_result results[RULES_MAX];
	struct rl_http_policy policies[RULES_MAX];
	struct rl_http_limit limits[RULES_MAX];
	char value[1024];
	size_t count = 0;
	uint64_t now_ns;
	struct rl *rl;

	if (argc < 4 || argc % 2 != 0 || argc > 2 + 2 * RULES_MAX ||
	    rl_open(argv[1], &(struct rl_options){.flags = RL_OPEN_READONLY | RL_OPEN_ANY_OWNER},
	            &rl) < 0)
		return 2;
	now_ns = rl_now(rl);
	for (int i = 2; i < argc; i += 2, count++) {
		int rule = rl_find(rl, argv[i]);

		rl_peek(rl, rule, argv[i + 1], strlen(argv[i + 1]), &results[count]);
		policies[count] = policy_of(rl, rule, argv[i], &results[count]);
		limits[count] = (struct rl_http_limit){.name = argv[i], .result = &results[count]};
	}
	show("RateLimit-Policy",
	     rl_http_ratelimit_policy(RL_HTTP_IETF_11, policies, count, value, sizeof(value)),
	     value);
	show("RateLimit", rl_http_ratelimit(RL_HTTP_IETF_11, limits, count, value, sizeof(value)),
	     value);
	show_last(&results[0], now_ns);
	rl_close(rl);
	return 0;
}
