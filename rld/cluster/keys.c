/* SPDX-License-Identifier: BSD-2-Clause */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 1024u

static void
clear(uint32_t *numbers, size_t count)
{
	memset(numbers, 0xff, count * sizeof *numbers);
}

bool
keys_open(struct keys *k, uint64_t now_ns)
{
	*k = (struct keys){.free = KEYS_NONE, .at_tick = now_ns / KEYS_TICK_NS};
	clear(k->wheel, KEYS_TICKS);
	k->slots = malloc(SLOTS_MIN * sizeof *k->slots);
	k->hints = malloc(SLOTS_MIN * sizeof *k->hints);
	if (!k->slots || !k->hints) {
		keys_close(k);
		return false;
	}
	k->slot_room = SLOTS_MIN;
	clear(k->slots, k->slot_room);
	clear(k->hints, k->slot_room);
	return true;
}

void
keys_close(struct keys *k)
{
	free(k->of);
	free(k->slots);
	free(k->hints);
	*k = (struct keys){.free = KEYS_NONE};
}

/* All bits of it are by chance. */
static uint32_t
home_of(const struct keys *k, uint64_t key_hash)
{
	return (uint32_t)key_hash & (k->slot_room - 1);
}

/* Where the key's number stands, or the empty place for it. */
static uint32_t
place_of(const struct keys *k, uint64_t key_hash)
{
	uint32_t i = home_of(k, key_hash);

	while (k->slots[i] != KEYS_NONE && k->of[k->slots[i]].of.key_hash != key_hash)
		i = (i + 1) & (k->slot_room - 1);
	return i;
}

uint32_t
keys_find(const struct keys *k, uint64_t key_hash)
{
	return k->slots[place_of(k, key_hash)];
}

static uint32_t *
hint_of(const struct keys *k, const uint64_t hash[2])
{
	return &k->hints[(uint32_t)hash[0] & (k->slot_room - 1)];
}

static void
hint_all(struct keys *k)
{
	clear(k->hints, k->slot_room);
	for (uint32_t i = 0; i < k->count; i++)
		if ((k->of[i].hash[0] | k->of[i].hash[1]) != 0)
			*hint_of(k, k->of[i].hash) = i;
}

static bool
grow_slots(struct keys *k)
{
	uint32_t *old = k->slots, old_room = k->slot_room;
	uint32_t *more = malloc((size_t)old_room * 2 * sizeof *more);
	uint32_t *hints = more ? realloc(k->hints, (size_t)old_room * 2 * sizeof *hints) : NULL;

	if (!hints) {
		free(more);
		return false;
	}
	k->slots = more;
	k->hints = hints;
	k->slot_room = old_room * 2;
	clear(k->slots, k->slot_room);
	hint_all(k);
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i] != KEYS_NONE)
			k->slots[place_of(k, k->of[old[i]].of.key_hash)] = old[i];
	free(old);
	return true;
}

static uint32_t
take_number(struct keys *k)
{
	uint32_t number = k->free, room;
	struct key *more;

	if (number != KEYS_NONE) {
		k->free = k->of[number].next;
		return number;
	}
	if (k->count == k->room) {
		room = k->room ? k->room * 2 : 256;
		more = realloc(k->of, room * sizeof *more);
		if (!more)
			return KEYS_NONE;
		k->of = more;
		k->room = room;
	}
	return k->count++;
}

uint32_t
keys_claim(struct keys *k, const struct rl_incarnation *of)
{
	uint32_t number = keys_find(k, of->key_hash);

	if (number != KEYS_NONE)
		return number;
	if (k->used >= k->slot_room / 2 && !grow_slots(k))
		return KEYS_NONE;
	number = take_number(k);
	if (number == KEYS_NONE)
		return KEYS_NONE;
	k->of[number] = (struct key){.of = *of, .tick = KEYS_NONE};
	k->slots[place_of(k, of->key_hash)] = number;
	k->used++;
	return number;
}

void
keys_name(struct keys *k, uint32_t number, const uint64_t hash[2])
{
	memcpy(k->of[number].hash, hash, sizeof k->of[number].hash);
	*hint_of(k, hash) = number;
}

uint32_t
keys_named(const struct keys *k, const uint64_t hash[2])
{
	uint32_t number = *hint_of(k, hash);

	if (number == KEYS_NONE || memcmp(k->of[number].hash, hash, sizeof k->of[number].hash) != 0)
		return KEYS_NONE;
	return number;
}

static void
leave_wheel(struct keys *k, uint32_t number)
{
	struct key *key = &k->of[number];

	if (key->tick == KEYS_NONE)
		return;
	if (key->prev == KEYS_NONE)
		k->wheel[key->tick] = key->next;
	else
		k->of[key->prev].next = key->next;
	if (key->next != KEYS_NONE)
		k->of[key->next].prev = key->prev;
	key->tick = KEYS_NONE;
}

/* Keys behind the gap move up, as far as they may. */
static void
close_gap(struct keys *k, uint32_t gap)
{
	uint32_t mask = k->slot_room - 1, i = gap, home;

	k->slots[gap] = KEYS_NONE;
	for (i = (gap + 1) & mask; k->slots[i] != KEYS_NONE; i = (i + 1) & mask) {
		home = home_of(k, k->of[k->slots[i]].of.key_hash);
		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		k->slots[gap] = k->slots[i];
		k->slots[i] = KEYS_NONE;
		gap = i;
	}
}

void
keys_remove(struct keys *k, uint32_t number)
{
	leave_wheel(k, number);
	close_gap(k, place_of(k, k->of[number].of.key_hash));
	k->of[number] = (struct key){.tick = KEYS_NONE, .next = k->free};
	k->free = number;
	k->used--;
}

void
keys_schedule(struct keys *k, uint32_t number, uint64_t due_ns)
{
	struct key *key = &k->of[number];
	uint64_t tick = due_ns / KEYS_TICK_NS;

	leave_wheel(k, number);
	if (tick < k->at_tick)
		tick = k->at_tick;
	if (tick >= k->at_tick + KEYS_TICKS)
		tick = k->at_tick + KEYS_TICKS - 1;
	key->due_ns = due_ns;
	key->tick = (uint32_t)(tick % KEYS_TICKS);
	key->prev = KEYS_NONE;
	key->next = k->wheel[key->tick];
	if (key->next != KEYS_NONE)
		k->of[key->next].prev = number;
	k->wheel[key->tick] = number;
}

uint32_t
keys_next_due(struct keys *k, uint64_t now_ns)
{
	uint64_t now_tick = now_ns / KEYS_TICK_NS;
	uint32_t number;

	while (k->at_tick <= now_tick) {
		number = k->wheel[k->at_tick % KEYS_TICKS];
		if (number == KEYS_NONE && k->at_tick == now_tick)
			return KEYS_NONE;
		if (number == KEYS_NONE) {
			k->at_tick++;
			continue;
		}
		leave_wheel(k, number);
		if (k->of[number].due_ns / KEYS_TICK_NS <= now_tick)
			return number;
		keys_schedule(
			k, number,
			k->of[number].due_ns); /* it was farther away than the wheel is round */
	}
	return KEYS_NONE;
}
