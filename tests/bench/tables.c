/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rl beside tables in C that hash a key as it does, in one process that nobody disturbs, at the
 * caller's now: what is left is what each does beside the hash. One of them has another hash, of
 * AES.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "at.h"
#include "floor.h"
#include "kru.h"
#include "open.h"
#include "peer_locked.h"
#include "report.h"
#include "shared/hash.h"

#define OPERATIONS 20000
#define MANY_OPERATIONS 200000 /* each key several times, for another lane has had the caches */
#define KEYS 100000
#define SALT 3

struct subject {
	struct rl *rl;
	int rule;
	struct peer_lock *locks;
	unsigned count; /* of locks */
	struct rl_sip start;
	uint64_t keys, at;
	uint16_t ms;
};

/* A key of 16 bytes, of `keys` in an order without a pattern. */
#define NEXT_KEY(s)                                                         \
	{                                                                   \
		(s)->keys == 1 ? 0 : bench_pick((s)->at++, (s)->keys), SALT \
	}

static void
ask_rl(void *subject, unsigned worker, uint64_t n)
{
	struct subject *s = subject;
	struct rl_result r;

	(void)worker;
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t key[2] = NEXT_KEY(s);
		at_check(s->rl, s->rule, key, sizeof key, 1, BENCH_T0, &r);
	}
}

static inline __attribute__((always_inline)) void
ask_locked(struct subject *s, peer_lock_check_fn *check, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t key[2] = NEXT_KEY(s);
		uint64_t hash = rl_hash_of_key(s->start, key, sizeof key) | 1;
		check(peer_lock_of(s->locks, s->count, hash), PEER_OPEN, (const char *)key,
		      sizeof key, hash, BENCH_T0);
	}
}

static void
ask_mutex(void *subject, unsigned worker, uint64_t n)
{
	(void)worker;
	ask_locked(subject, peer_lock_check_mutex, n);
}

static void
ask_spin(void *subject, unsigned worker, uint64_t n)
{
	(void)worker;
	ask_locked(subject, peer_lock_check_spin, n);
}

static struct kru kru;

/* Loads for twice as many keys. */
static void
kru_start(void)
{
	for (kru.lines = 1; kru.lines * KRU_LOADS < 2 * KEYS;)
		kru.lines *= 2;
	kru.line = mmap(NULL, kru.lines * sizeof *kru.line, PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (kru.line == MAP_FAILED)
		bench_die("no memory for loads");
}

typedef uint64_t hash_fn(struct rl_sip start, const uint64_t key[2]);

/*
 * Each round is later than the last, for no load is to become full. Inlined, with what it is given.
 */
static inline __attribute__((always_inline)) void
ask_kru_by(struct subject *s, uint64_t n, hash_fn *hash, struct kru_ways ways)
{
	uint64_t admitted = 0;

	s->ms = (uint16_t)(s->ms + KRU_DECAY);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t key[2] = NEXT_KEY(s);
		admitted += kru_check(&kru, hash(s->start, key), s->ms, ways);
	}
	bench_sink = admitted;
}

static inline uint64_t
hash_sip(struct rl_sip start, const uint64_t key[2])
{
	return rl_hash_of_key(start, key, 2 * sizeof key[0]);
}

static void
ask_kru(void *subject, unsigned worker, uint64_t n)
{
	(void)worker;
	ask_kru_by(subject, n, hash_sip, (struct kru_ways){kru_find, kru_smallest});
}

#if KRU_HAS_FAST
static inline KRU_TARGET uint64_t
hash_aes(struct rl_sip unused, const uint64_t key[2])
{
	(void)unused;
	return kru_hash_fast(key);
}

static KRU_TARGET void
ask_kru_aes(void *subject, unsigned worker, uint64_t n)
{
	(void)worker;
	ask_kru_by(subject, n, hash_aes, (struct kru_ways){kru_find_fast, kru_smallest_fast});
}
#endif

/* Their time beside rl's is to be that at least, with one key and with many. */
static const struct rival {
	const char *id, *label;
	void (*run)(void *subject, unsigned worker, uint64_t n);
	unsigned locks;
	double one, many;
} rivals[] = {
	{"rl", "rl", ask_rl, 0, 0, 0},
	{"spinlocks", "256 spinlocks", ask_spin, PEER_SHARDS, 0.5, 1.9},
	{"mutexes", "256 robust mutexes", ask_mutex, PEER_SHARDS, 0.9, 2.8},
	{"mutex", "one robust mutex", ask_mutex, 1, 0, 0},
	{"kru", "lines of decaying loads, as KRU's", ask_kru, 0, 1.5, 1.7},
#if KRU_HAS_FAST
	{"kru_aes", "lines of decaying loads, AVX2, a hash of AES", ask_kru_aes, 0, 0.8, 0.75},
#endif
};
#define RIVALS (sizeof rivals / sizeof rivals[0])

static struct subject
subject_of(const struct rival *r, struct rl *rl, int rule, uint64_t keys)
{
	return (struct subject){.rl = rl,
	                        .rule = rule,
	                        .locks = r->locks > 0 ? peer_locks_map(r->locks) : NULL,
	                        .count = r->locks,
	                        .start = rl_sip_start64((struct rl_hash_key){bench_zero + 1, 2}),
	                        .keys = keys};
}

/* With one key or many: all rivals, and the floor. */
static void
compare(const struct bench *bench, json_t *section, struct rl *rl, uint64_t keys, size_t count)
{
	const struct bench rounds = bench_many_rounds(bench);
	uint64_t n = bench_n(bench, keys == 1 ? OPERATIONS : MANY_OPERATIONS);
	const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = 3600 * RL_SECOND};
	int rule = bench_define(rl, keys == 1 ? "one" : "many", &limit);
	struct subject subjects[RIVALS];
	struct lane lanes[RIVALS + 1];
	struct samples s[RIVALS + 1];

	for (size_t i = 0; i < count; i++) {
		subjects[i] = subject_of(&rivals[i], rl, rule, keys);
		lanes[i] = (struct lane){
			rivals[i].id, rivals[i].label, rivals[i].run, &subjects[i], n, 0};
		lanes[i].run(&subjects[i], 0, 10 * keys < 10 * n ? 10 * n : 10 * keys);
	}
	lanes[count] = (struct lane){"floor", "", floor_decision, NULL, n, 0};
	lanes_measure(&rounds, lanes, count + 1, s);
	for (size_t i = 0; i < count; i++) {
		struct row row = report_row_of(&lanes[i], &s[i], i > 0 ? &s[0] : &s[count],
		                               i > 0 ? "rl" : "floors");
		row.group = keys == 1 ? "one" : "many";
		row.group_label = keys == 1 ? "one key" : "100,000 keys";
		row.target = keys == 1 ? rivals[i].one : rivals[i].many;
		row.is_at_least = true;
		report_row(section, &row);
	}
}

void
bench_tables(struct bench *bench)
{
	json_t *section = report_section(bench->report, "tables",
	                                 "Beside tables in C with the same hash, one process");
	uint64_t keys = bench_n(bench, KEYS);
	struct rl *rl = bench_open(&(struct rl_options){.keys = 2 * KEYS, .ring = 1}, false);
	size_t count = RIVALS;

#if KRU_HAS_FAST
	if (!kru_can_be_fast())
		count--;
#endif
	kru_start();
	peer_keys = KEYS;
	compare(bench, section, rl, 1, count);
	compare(bench, section, rl, keys, count);
	rl_close(rl);
}
