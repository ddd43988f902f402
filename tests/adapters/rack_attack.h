/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_RACK_ATTACK_H
#define RL_ADAPTER_RACK_ATTACK_H

/*
 * A store as Rack::Attack asks its cache for it: whole numbers by name, which expire. What it
 * counts, and under which names, is its own affair. An error is -errno.
 */
#include <rl.h>

struct rack_attack {
	struct rl *rl;
	int space;
};

int rack_attack_open(struct rack_attack *s, struct rl *rl);

/*
 * `expires_in` is in seconds; 0 is never. A number that is there keeps its end. The number after
 * it.
 */
int64_t rack_attack_increment(const struct rack_attack *s, const char *name, uint32_t amount,
                              uint64_t expires_in, uint64_t now_ns);

/* 1 read, 0 there is none. */
int rack_attack_read(const struct rack_attack *s, const char *name, uint64_t now_ns,
                     uint64_t *value);

int rack_attack_write(const struct rack_attack *s, const char *name, uint64_t value,
                      uint64_t expires_in, uint64_t now_ns);

/* With `unless_exist`: 1 written, 0 there is one, which stays. */
int rack_attack_write_new(const struct rack_attack *s, const char *name, uint64_t value,
                          uint64_t expires_in, uint64_t now_ns);

int rack_attack_delete(const struct rack_attack *s, const char *name, uint64_t now_ns);

/*
 * All whose name begins so: how many. The segment is to keep so many bytes of a key; else what
 * could not be judged stays, and the error is -ENAMETOOLONG.
 */
int64_t rack_attack_delete_matched(const struct rack_attack *s, const char *prefix);

#endif
