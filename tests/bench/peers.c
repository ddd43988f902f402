/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rl and what else people use, side by side: what a decision takes, and how much each admits
 * of a common workload. A server with a limiter of its own would be one more peer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "peer.h"
#include "report.h"
#include "shared/atomic.h"

#define KEYS 1000000 /* of the largest workload; a quick run has a hundredth of each */
#define COUNTED_KEYS 20
#define COUNTED_CAPACITY 500
#define COUNTED_PROCESSES 4
#define COUNTED_DEMAND 4                        /* times what is allowed */
#define LONG (10 * UINT64_C(86400) * RL_SECOND) /* no run sees the next one begin */

const struct peer_limit peer_limits[PEER_LIMITS] = {
	[PEER_OPEN] = {"open", RL_CAPACITY_MAX, 60 * RL_SECOND},
	[PEER_SHUT] = {"shut", 1, LONG},
	[PEER_COUNTED] = {"counted", COUNTED_CAPACITY, LONG},
};

static const struct peer *const peers[] = {
	&peer_rl,    &peer_alone,     &peer_mutex,           &peer_mutexes,   &peer_spinlocks,
	&peer_redis, &peer_redis_log, &peer_redis_pipelined, &peer_memcached,
};
#define PEERS (sizeof peers / sizeof peers[0])

static const struct workload {
	const char *id, *label;
	unsigned workers;
	enum peer_limit_name limit;
	uint64_t keys;
	bool is_local; /* servers do not take part */
	double target; /* time of 256 robust mutexes beside rl's, at least; 0: nothing said */
} workloads[] = {
	{"spread_1", "100k keys, 1 process", 1, PEER_OPEN, 100000, false, 0},
	{"spread_2", "100k keys, 2 processes", 2, PEER_OPEN, 100000, false, 1.2},
	{"spread_8", "100k keys, 8 processes", 8, PEER_OPEN, 100000, false, 0},
	{"many_2", "1M keys, 2 processes", 2, PEER_OPEN, KEYS, true, 0.8},
	{"hot_1", "one key, admitted, 1 process", 1, PEER_OPEN, 1, true, 0},
	{"hot_2", "one key, admitted, 2 processes", 2, PEER_OPEN, 1, true, 1.3},
	{"denied_2", "one key, denied, 2 processes", 2, PEER_SHUT, 1, false, 2.1},
};

uint64_t peer_keys;
static char names[KEYS][24];

struct job {
	const struct peer *peer;
	enum peer_limit_name limit;
	uint64_t keys;
	uint64_t *admitted; /* shared, or NULL */
};

static void
make_names(void)
{
	for (unsigned i = 0; i < peer_keys; i++)
		snprintf(names[i], sizeof names[i], "user:%08u", i);
}

static void
ask(void *job, unsigned worker, uint64_t n)
{
	const struct job *j = job;
	const char *keys[PEER_BATCH];
	bool admitted[PEER_BATCH];
	uint64_t count = 0;

	for (uint64_t i = 0; i < n; i += j->peer->batch) {
		for (size_t k = 0; k < j->peer->batch; k++)
			keys[k] = names[bench_pick((uint64_t)worker << 40 | (i + k), j->keys)];
		j->peer->check(j->limit, keys, j->peer->batch, admitted);
		for (size_t k = 0; k < j->peer->batch; k++)
			count += admitted[k];
	}
	if (j->admitted)
		rl_atomic_add(j->admitted, count);
}

/* The peers that can be had, and a note for each that cannot. */
static size_t
start_peers(const struct bench *bench, json_t *section, const struct peer *started[PEERS])
{
	static const char *reason[PEERS];
	static bool is_started;
	size_t count = 0;

	peer_keys = bench_n(bench, KEYS);
	make_names();
	for (size_t i = 0; i < PEERS; i++) {
		if (!is_started)
			reason[i] = peers[i]->start();
		if (!reason[i])
			started[count++] = peers[i];
		else
			report_note(section, "%s: skipped, %s", peers[i]->label, reason[i]);
	}
	is_started = true;
	return count;
}

static struct lane
lane_of(const struct bench *bench, struct job *job, unsigned workers)
{
	uint64_t n = bench_n(bench, job->peer->n);

	return (struct lane){.id = job->peer->id,
	                     .label = job->peer->label,
	                     .run = ask,
	                     .arg = job,
	                     .n = (n + job->peer->batch - 1) / job->peer->batch * job->peer->batch,
	                     .workers = workers};
}

/* A peer's row of a workload, beside rl, which is the first. */
static void
tell_peer(json_t *section, const struct workload *w, const struct peer *peer,
          const struct samples *s, const struct samples *rl)
{
	const struct lane lane = {.id = peer->id, .label = peer->label, .workers = w->workers};
	struct row row = report_row_of(&lane, s, rl, peer == &peer_rl ? NULL : "rl");

	row.group = w->id;
	row.group_label = w->label;
	row.target = peer == &peer_mutexes ? w->target : 0;
	row.is_at_least = true;
	report_row(section, &row);
}

static void
compare(const struct bench *bench, json_t *section, const struct workload *w,
        const struct peer *const *started, size_t count)
{
	struct samples samples[PEERS];
	struct lane lanes[PEERS] = {0};
	struct job jobs[PEERS];
	size_t taking_part = 0;

	for (size_t i = 0; i < count; i++) {
		if (w->is_local && !started[i]->is_local)
			continue;
		jobs[taking_part] = (struct job){started[i], w->limit,
		                                 w->keys < peer_keys ? w->keys : peer_keys, NULL};
		lanes[taking_part] = lane_of(bench, &jobs[taking_part], w->workers);
		taking_part++;
	}
	lanes_measure(bench, lanes, taking_part, samples);
	for (size_t i = 0; i < taking_part; i++)
		tell_peer(section, w, jobs[i].peer, &samples[i], &samples[0]);
}

void
bench_peers(struct bench *bench)
{
	json_t *section = report_section(bench->report, "peers", "Beside what people use");
	const struct peer *started[PEERS];
	size_t count = start_peers(bench, section, started);

	for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
		compare(bench, section, &workloads[i], started, count);
	report_note(section,
	            "ns of wall time for each decision of all processes together; each peer "
	            "reads its own clock");
}

static void
tell_admitted(json_t *section, const struct peer *peer, uint64_t admitted, uint64_t keys)
{
	const double allowed = (double)(keys * COUNTED_CAPACITY);

	report_row(section, &(struct row){.id = peer->id,
	                                  .label = peer->label,
	                                  .value = (double)admitted,
	                                  .unit = "admitted",
	                                  .ratio = (double)admitted / allowed,
	                                  .to = "what is allowed"});
}

void
bench_accuracy(struct bench *bench)
{
	json_t *section = report_section(bench->report, "accuracy",
	                                 "Admitted of a common workload, 4 processes at once");
	const struct bench once = {.cpus = bench->cpus, .rounds = 1};
	uint64_t keys = bench->is_quick ? 2 : COUNTED_KEYS;
	uint64_t *admitted = mmap(NULL, sizeof *admitted, PROT_READ | PROT_WRITE,
	                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct peer *started[PEERS];
	size_t count = start_peers(bench, section, started);

	if (admitted == MAP_FAILED)
		bench_die("mmap: %s", strerror(errno));
	for (size_t i = 0; i < count; i++) {
		struct job job = {started[i], PEER_COUNTED, keys, admitted};
		struct lane lane = lane_of(&once, &job, COUNTED_PROCESSES);
		struct samples unused;
		lane.n = keys * COUNTED_CAPACITY * COUNTED_DEMAND / COUNTED_PROCESSES;
		rl_atomic_store(admitted, 0);
		lanes_measure(&once, &lane, 1, &unused);
		tell_admitted(section, started[i], rl_atomic_load(admitted), keys);
	}
	report_note(section,
	            "%d keys, %d allowed for each within one window, %d times as many requests",
	            (int)keys, COUNTED_CAPACITY, COUNTED_DEMAND);
	munmap(admitted, sizeof *admitted);
}
