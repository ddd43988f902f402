/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ATTACK_H
#define RL_ATTACK_H

/*
 * Who floods a table, with what keys, while users go on as ever. The users are of rule 0, 20 in a
 * minute; their numbers and rates are of the full scale.
 */

#include <stddef.h>
#include <stdint.h>

#include "rl.h"

#define ATTACK_KEY_SIZE 48
#define ATTACK_RULES 9 /* at most, the users' included */

/* How often a key is used. */
enum attack_kind {
	ATTACK_ONCE,
	ATTACK_PIN,    /* as often as its limit admits, then never again */
	ATTACK_ROTATE, /* in turns */
};

/* What keys are. */
enum attack_keys {
	ATTACK_TEXT,
	ATTACK_48,     /* one IPv6 /48, random /64s */
	ATTACK_32,     /* one IPv6 /32, random /64s */
	ATTACK_32S,    /* IPv6 /32s all over, of each one /64 */
	ATTACK_16,     /* one IPv4 /16 */
	ATTACK_BOTNET, /* IPv4 addresses all over */
};

/* What is promised at most of `reserve`, by the full scale and by the reduced one. */
struct attack_most {
	double denied[2];   /* users wrongly denied, in percent */
	double attacker[2]; /* admitted, of what exact limits admit; 0: of no interest */
};

struct attack {
	const char *name;
	enum attack_kind kind;
	enum attack_keys keys;
	uint32_t rate;     /* a second */
	uint32_t rotating; /* keys */
	unsigned rules;    /* that are attacked; 0: the users' own */
	uint32_t capacity; /* of each of them, in ten minutes */
	uint32_t table;    /* keys that it is made for; 0: the default */
	unsigned tables;   /* that are flooded one by one, and told together; 0: one */
	uint32_t cost;     /* of each request; 0: 1 */
	uint32_t users;
	uint32_t user_rate; /* a second */
	uint32_t user_capacity;
	int is_even;      /* users come equally often; else Zipf */
	int is_shaped;    /* repeated by other limits of the users */
	uint32_t alone_s; /* how long there is only the attack at first; 0: the users come first */
	struct attack_most most;
};

/* Number `i`; NULL past the last. */
const struct attack *attack_number(unsigned i);

/* The key of user, or of the attacker's key number `i`, and its length. */
size_t attack_user(const struct attack *a, uint32_t i, char text[ATTACK_KEY_SIZE]);
size_t attack_key(const struct attack *a, uint32_t i, char text[ATTACK_KEY_SIZE]);

/* The limit of rule number `rule`. */
struct rl_limit attack_limit(const struct attack *a, unsigned rule);

#endif
