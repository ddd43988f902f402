/* SPDX-License-Identifier: BSD-2-Clause */
/* Is a client one key? Of IPv6 it has a /64 of addresses, and may take another for each request. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/output.h"
#include "base/rule.h"
#include "doctor/doctor.h"
#include "model/client_network.h"

#define CROWD 16 /* keys in a network; a household has fewer devices */

/* A key that is an address in the middle of a network. */
struct inmate {
	int rule;
	unsigned limit;
	char network[CLIENT_NETWORK_MAX];
};

struct crowd {
	struct inmate *at;
	size_t count, room;
};

static int
add_inmate(const struct rl_entry *entry, void *arg)
{
	struct crowd *crowd = arg;
	struct inmate inmate = {.rule = entry->rule, .limit = entry->limit};
	struct rl_pattern pattern = {RL_MATCH_KEY, entry->key, entry->key_kept};

	if (entry->rule < 0 || !entry->key || entry->key_kept != entry->key_len ||
	    !client_network(&pattern, inmate.network))
		return 0;
	if (crowd->count == crowd->room) {
		crowd->room = crowd->room ? 2 * crowd->room : 256;
		crowd->at = need(realloc(crowd->at, crowd->room * sizeof(*crowd->at)));
	}
	crowd->at[crowd->count++] = inmate;
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct inmate *left = a, *right = b;

	if (left->rule != right->rule)
		return left->rule < right->rule ? -1 : 1;
	if (left->limit != right->limit)
		return left->limit < right->limit ? -1 : 1;
	return strcmp(left->network, right->network);
}

/* The first of those that are most in one network, and how many. */
static size_t
largest(const struct crowd *crowd, const struct inmate **first)
{
	size_t most = 0;

	for (size_t i = 0, next; i < crowd->count; i = next) {
		for (next = i + 1; next < crowd->count; next++)
			if (compare(&crowd->at[i], &crowd->at[next]) != 0)
				break;
		if (next - i > most) {
			most = next - i;
			*first = &crowd->at[i];
		}
	}
	return most;
}

static void
judge_crowd(struct doctor *doctor)
{
	struct crowd crowd = {0};
	const struct inmate *first = NULL;
	size_t most;

	rl_walk(doctor->rl, rl_now(doctor->rl), NULL, add_inmate, &crowd);
	if (crowd.count > 0)
		qsort(crowd.at, crowd.count, sizeof(*crowd.at), compare);
	most = largest(&crowd, &first);
	if (most >= CROWD) {
		doctor_say(
			doctor, DOCTOR_NOTE,
			"whoever has that network is not limited: a fresh address is a fresh limit",
			"rule %s counts each IPv6 address: %zu keys are in %s",
			rule_label(doctor->rl, first->rule).text, most, first->network);
		doctor_fix(doctor, "let the key be the client ($rl_client in nginx), or add "
		                   "\"prefixes\" to the rule's limits");
	}
	free(crowd.at);
}

struct lone {
	uint64_t count;
	char first[CLIENT_NETWORK_MAX];
};

static int
count_lone(const struct rl_ban_info *ban, void *arg)
{
	struct lone *lone = arg;
	char network[CLIENT_NETWORK_MAX];

	if (!ban->pattern.key || ban->pattern.key_len != ban->key_len ||
	    !client_network(&ban->pattern, network))
		return 0;
	if (lone->count++ == 0)
		memcpy(lone->first, network, sizeof(network));
	return 0;
}

static void
judge_bans(struct doctor *doctor)
{
	struct lone lone = {0};

	rl_bans_walk(doctor->rl, doctor->now_ns, count_lone, &lone);
	if (lone.count == 0)
		return;
	doctor_say(doctor, DOCTOR_NOTE,
	           "servers and languages count a client of IPv6 by its /64, and then its key is "
	           "no such address",
	           "%" PRIu64 " bans and exemptions are of less than a /64 of IPv6, such as one in "
	           "%s",
	           lone.count, lone.first);
	doctor_fix(doctor, "rlctl --segment %s ban %s, unless keys are whole addresses",
	           doctor->name, lone.first);
}

void
check_clients(struct doctor *doctor)
{
	size_t before = doctor->count;

	judge_crowd(doctor);
	judge_bans(doctor);
	if (doctor->count == before)
		doctor_say(doctor, DOCTOR_OK, NULL, "no IPv6 network has many keys of a rule");
}
