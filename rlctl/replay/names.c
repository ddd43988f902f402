/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/names.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/array.h"
#include "base/output.h"

#define SLOTS_FIRST ((size_t)1 << 10)

struct names
names_make(void)
{
	struct names names = {
		.slots = need(calloc(SLOTS_FIRST, sizeof(*names.slots))),
		.slot_count = SLOTS_FIRST,
		.secret = {(uint64_t)time(NULL), (uint64_t)clock()},
	};
	ssize_t got = getrandom(names.secret, sizeof(names.secret), GRND_NONBLOCK);

	(void)got; /* early at boot there is none: the time is then all that is secret */
	return names;
}

/* Both halves of the product, folded: each bit of the one depends on all of the other. */
static uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t
hash(const struct names *names, struct slice key)
{
	uint64_t h = names->secret[0] ^ key.len, word;
	const char *at = key.at;
	size_t left = key.len;

	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = mix(h ^ word, names->secret[1] | 1);
	}
	word = 0;
	memcpy(&word, at, left);
	h = mix(h ^ word, names->secret[1] | 1);
	h = mix(h ^ names->secret[1], names->secret[0] | 1);
	return (uint32_t)(h >> 32);
}

static struct name *
name_at(const struct names *names, uint32_t place)
{
	return (struct name *)(names->arena + place);
}

const struct name *
names_at(const struct names *names, uint32_t number)
{
	return name_at(names, names->places[number]);
}

/* A slot is empty if it is 0: the first word of the arena is nobody's. */
static void
put(uint64_t *slots, size_t count, uint64_t slot)
{
	size_t at = (size_t)(slot >> 32) & (count - 1);

	while (slots[at])
		at = (at + 1) & (count - 1);
	slots[at] = slot;
}

static void
grow(struct names *names)
{
	size_t count = names->slot_count * 2;
	uint64_t *slots = need(calloc(count, sizeof(*slots)));

	for (size_t i = 0; i < names->slot_count; i++)
		if (names->slots[i])
			put(slots, count, names->slots[i]);
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
}

static uint32_t
add(struct names *names, struct slice key, uint32_t key_hash)
{
	size_t bytes = offsetof(struct name, bytes) + key.len;
	size_t words = (bytes + sizeof(*names->arena) - 1) / sizeof(*names->arena);
	uint32_t number = (uint32_t)names->count;
	struct name *name;

	if (names->count >= NAMES_MAX || names->used + words > UINT32_MAX)
		return UINT32_MAX;
	if (names->used == 0)
		names->used = 1;
	if (names->used + words > names->room) {
		names->room = 2 * (names->room + words);
		names->arena = need(reallocarray(names->arena, names->room, sizeof(*names->arena)));
	}
	name = name_at(names, (uint32_t)names->used);
	*name = (struct name){.number = number, .requests = 1, .len = (uint16_t)key.len};
	memcpy(name->bytes, key.at, key.len);
	names->places =
		array_grow(names->places, names->count, &names->place_room, sizeof(*names->places));
	names->places[names->count++] = (uint32_t)names->used;
	put(names->slots, names->slot_count, (uint64_t)key_hash << 32 | names->used);
	names->used += words;
	if (names->count > names->slot_count / 4 * 3)
		grow(names);
	return number;
}

uint32_t
names_count(struct names *names, struct slice key)
{
	uint32_t key_hash = hash(names, key);
	size_t at = key_hash & (names->slot_count - 1);

	for (; names->slots[at]; at = (at + 1) & (names->slot_count - 1)) {
		struct name *name = name_at(names, (uint32_t)names->slots[at]);

		if (names->slots[at] >> 32 != key_hash || name->len != key.len ||
		    memcmp(name->bytes, key.at, key.len) != 0)
			continue;
		name->requests++;
		return name->number;
	}
	return add(names, key, key_hash);
}

void
names_free(struct names *names)
{
	free(names->slots);
	free(names->arena);
	free(names->places);
}
