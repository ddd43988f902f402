/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of one client to several hosts with one limit of a cluster: hosts SECONDS RULE
 * SEGMENT... Each second a line says how many each host has admitted; the last one how many the
 * fullest real window held.
 */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOSTS_MAX 16
#define RATE 400 /* requests a second, to each host */

static struct rl *hosts[HOSTS_MAX];
static int rules[HOSTS_MAX], host_count;
static uint64_t *admitted; /* when, in their order */
static size_t admitted_count, admitted_room;

static void
note(uint64_t now_ns)
{
	if (admitted_count == admitted_room) {
		admitted_room = admitted_room ? admitted_room * 2 : 1024;
		admitted = realloc(admitted, admitted_room * sizeof *admitted);
		if (!admitted)
			exit(2);
	}
	admitted[admitted_count++] = now_ns;
}

static size_t
fullest(uint64_t window_ns)
{
	size_t most = 0;

	for (size_t first = 0, i = 0; i < admitted_count; i++) {
		while (admitted[i] - admitted[first] >= window_ns)
			first++;
		most = i - first + 1 > most ? i - first + 1 : most;
	}
	return most;
}

static void
open_host(const char *segment, const char *rule)
{
	int error = rl_open(segment, NULL, &hosts[host_count]);

	if (error == 0)
		error = rules[host_count] = rl_find(hosts[host_count], rule);
	if (error < 0) {
		fprintf(stderr, "hosts: %s: %s\n", segment, rl_strerror(error));
		exit(2);
	}
	host_count++;
}

static void
ask_all(unsigned counts[HOSTS_MAX])
{
	for (int i = 0; i < host_count; i++) {
		struct rl_item item = {.rule = rules[i],
		                       .key = "client",
		                       .key_len = 6,
		                       .cost = 1,
		                       .now_ns = rl_now(hosts[i])};

		if (rl_check_item(hosts[i], &item, NULL) != RL_ALLOWED)
			continue;
		counts[i]++;
		note(item.now_ns);
	}
}

/* A second's requests, to all hosts in turns. */
static void
drive(unsigned counts[HOSTS_MAX])
{
	uint64_t begin_ns = rl_now(hosts[0]), due = 0;

	while (rl_now(hosts[0]) - begin_ns < RL_SECOND) {
		for (; due < (rl_now(hosts[0]) - begin_ns) * RATE / RL_SECOND; due++)
			ask_all(counts);
		usleep(1000);
	}
}

int
main(int argc, char **argv)
{
	struct rl_rule_info rule;
	int seconds = argc > 3 ? atoi(argv[1]) : 0;

	if (seconds <= 0 || argc - 3 > HOSTS_MAX) {
		fputs("usage: hosts SECONDS RULE SEGMENT...\n", stderr);
		return 2;
	}
	for (int i = 3; i < argc; i++)
		open_host(argv[i], argv[2]);
	for (int second = 1; second <= seconds; second++) {
		unsigned counts[HOSTS_MAX] = {0}, sum = 0;

		drive(counts);
		printf("second %2d: admitted", second);
		for (int i = 0; i < host_count; sum += counts[i++])
			printf(" %4u", counts[i]);
		printf("  = %4u\n", sum);
		fflush(stdout);
	}
	if (rl_rule_info(hosts[0], rules[0], &rule) != 1)
		return 2;
	printf("capacity %" PRIu32 ", blind %" PRIu32
	       " on each of %d hosts: never more than %" PRIu32
	       "; the fullest real window held %zu\n",
	       rule.limits[0].capacity, rule.limits[0].blind, host_count,
	       rule.limits[0].capacity + (uint32_t)host_count * rule.limits[0].blind,
	       fullest(rule.limits[0].window_ns));
	return fullest(rule.limits[0].window_ns) >
	       rule.limits[0].capacity + (size_t)host_count * rule.limits[0].blind;
}
