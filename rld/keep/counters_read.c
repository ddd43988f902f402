/* SPDX-License-Identifier: BSD-2-Clause */
#include <restore/restore.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "keep/counters_text.h"

/* Limits that a text may name: no segment has as many. */
#define LIMITS_MOST (UINT32_C(1) << 20)

/* Where the keys of a limit of the text belong now. */
struct home {
	char name[RL_NAME_MAX + 1];
	bool is_space; /* of counters */
	int rule;      /* -1: nowhere */
	unsigned limit;
	struct rl_limit now;
};

struct reading {
	struct rl *rl; /* NULL: the text is checked, and nothing done */
	uint64_t now_ns;
	const char *at, *end;
	bool is_bad;
	struct home *homes;
	uint32_t count, room;
	char key[RL_KEY_MAX];
	struct restore_key whole;
	uint64_t keys;
	struct counters_restored *restored;
};

static bool
skip(struct reading *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

static void
need(struct reading *r, const char *word)
{
	r->is_bad |= !skip(r, word);
}

/* A blank and a number of `most` at most. */
static uint64_t
number(struct reading *r, uint64_t most)
{
	uint64_t value = 0;
	const char *first;

	need(r, " ");
	for (first = r->at; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
		uint64_t digit = (uint64_t)(*r->at - '0');

		if (value > (most - digit) / 10 || digit > most) {
			r->is_bad = true;
			return 0;
		}
		value = value * 10 + digit;
	}
	r->is_bad |= r->at == first;
	return value;
}

static void
name(struct reading *r, char text[RL_NAME_MAX + 1])
{
	size_t len = 0;

	need(r, " ");
	while (r->at<r->end && * r->at> ' ' && len < RL_NAME_MAX)
		text[len++] = *r->at++;
	text[len] = '\0';
	r->is_bad |= len == 0;
}

static int
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void
key(struct reading *r)
{
	size_t len = 0;

	need(r, " ");
	for (; r->end - r->at >= 2 && digit_of(r->at[0]) >= 0 && len < RL_KEY_MAX; r->at += 2) {
		int low = digit_of(r->at[1]);

		r->is_bad |= low < 0;
		r->key[len++] = (char)(digit_of(r->at[0]) << 4 | (low & 15));
	}
	r->is_bad |= len == 0;
	r->whole = (struct restore_key){r->key, len};
}

static void
find_home(struct reading *r, struct home *home, unsigned index, const struct rl_limit *shape)
{
	struct rl_rule_info rule;
	int id = r->rl ? rl_find(r->rl, home->name) : -1, limit = -1;

	home->is_space = shape->algorithm == RL_COUNTER;
	if (id >= 0 && rl_rule_info(r->rl, id, &rule) == 1)
		limit = restore_find_limit(&rule, index, shape);
	home->rule = limit < 0 ? -1 : id;
	if (limit < 0)
		return;
	home->limit = (unsigned)limit;
	home->now = rule.limits[limit];
}

static struct home *
add_home(struct reading *r)
{
	struct home *grown;

	if (r->count == r->room) {
		r->room = r->room > 0 ? 2 * r->room : 64;
		grown = r->room <= LIMITS_MOST ? realloc(r->homes, r->room * sizeof *grown) : NULL;
		if (!grown)
			return NULL;
		r->homes = grown;
	}
	r->homes[r->count] = (struct home){.rule = -1};
	return &r->homes[r->count++];
}

static void
read_limit(struct reading *r)
{
	struct rl_limit shape = {.algorithm = RL_SLIDING_WINDOW};
	struct home *home = add_home(r);
	unsigned index;

	r->is_bad |= !home || number(r, UINT32_MAX) != r->count - 1;
	if (r->is_bad)
		return;
	name(r, home->name);
	index = (unsigned)number(r, RL_LIMITS_MAX - 1);
	shape.algorithm = (enum rl_algorithm)number(r, INT32_MAX);
	shape.capacity = (uint32_t)number(r, UINT32_MAX);
	shape.window_ns = number(r, UINT64_MAX);
	shape.granularity = (uint32_t)number(r, UINT32_MAX);
	shape.hard = (int)number(r, 1);
	shape.prefix_v4 = (uint8_t)number(r, 32);
	shape.prefix_v6 = (uint8_t)number(r, 128);
	if (!r->is_bad)
		find_home(r, home, index, &shape);
}

/* NULL: there is no such limit. */
static const struct home *
read_home(struct reading *r)
{
	uint64_t index = number(r, UINT32_MAX);

	r->is_bad |= index >= r->count;
	key(r);
	r->keys++;
	return r->is_bad ? NULL : &r->homes[index];
}

/* 0: it does not count any more; 1 a slot counts it, 2 an overflow counter; or -errno. */
static int
read_charge(struct reading *r, const struct home *home)
{
	struct rl_charge_entry entry;
	int error;

	entry.at_ns = number(r, UINT64_MAX);
	entry.cost = number(r, UINT64_MAX);
	if (r->is_bad || !r->rl || home->rule < 0 ||
	    restore_end_ns(&home->now, &entry) <= r->now_ns)
		return 0;
	error = restore_charge(r->rl, home->rule, home->limit, &r->whole, &entry, r->now_ns);
	if (error < 0)
		return error;
	return error == RL_RESTORED_IN_OVERFLOW ? 2 : 1;
}

static void
count_outcome(struct counters_restored *restored, bool has_home, bool counts, int error)
{
	if (!has_home)
		restored->homeless++;
	else if (error < 0)
		restored->failed++;
	else if (counts)
		restored->restored++;
	else
		restored->expired++;
	if (error < 0)
		restored->error = error;
}

static void
read_key_line(struct reading *r)
{
	const struct home *home = read_home(r);
	bool counts = false, in_cell = false;
	int error = 0;

	while (!r->is_bad && r->at < r->end && *r->at == ' ') {
		int done = read_charge(r, home);

		counts |= done > 0;
		in_cell |= done == 2;
		error = done < 0 ? done : error;
	}
	if (r->is_bad)
		return;
	count_outcome(r->restored, home->rule >= 0, counts, error);
	r->restored->in_cells += error == 0 && in_cell;
}

static void
read_count_line(struct reading *r)
{
	const struct home *home = read_home(r);
	uint64_t value = number(r, RL_COUNT_MAX), expires_ns = number(r, UINT64_MAX);
	uint64_t lifetime_ns = expires_ns;
	int error = 0;

	r->is_bad |= home && !home->is_space;
	if (r->is_bad)
		return;
	if (expires_ns != RL_NEVER_NS)
		lifetime_ns = expires_ns > r->now_ns ? expires_ns - r->now_ns : 0;
	if (r->rl && lifetime_ns > 0)
		error = restore_count(r->rl, home->name, &r->whole, value, lifetime_ns, r->now_ns);
	count_outcome(r->restored, true, lifetime_ns > 0, error);
}

/* From behind the first line to the last one, which is read as well. */
static void
read_lines(struct reading *r)
{
	while (!r->is_bad && !skip(r, "end")) {
		if (skip(r, "key"))
			read_key_line(r);
		else if (skip(r, "count"))
			read_count_line(r);
		else if (skip(r, "limit"))
			read_limit(r);
		else
			r->is_bad = true;
		need(r, "\n");
	}
	r->is_bad |= number(r, UINT64_MAX) != r->keys;
	r->restored->unkept = number(r, UINT64_MAX);
	free(r->homes);
}

static bool
read_first(struct reading *r, uint64_t *created_ns)
{
	need(r, COUNTERS_TEXT_MAGIC);
	r->is_bad |= number(r, UINT64_MAX) != COUNTERS_TEXT_VERSION;
	*created_ns = number(r, UINT64_MAX);
	need(r, "\n");
	return !r->is_bad;
}

/* The last line says what all before it amount to. */
static bool
has_its_hash(const char *text, size_t len)
{
	struct reading r = {.at = text, .end = text + len};
	const char *last = len > 1 ? memrchr(text, '\n', len - 1) : NULL;
	uint64_t hash;

	if (!last)
		return false;
	r.at = last + 1;
	need(&r, "end");
	number(&r, UINT64_MAX);
	number(&r, UINT64_MAX);
	hash = hash_more(HASH_OF_NONE, text, (size_t)(r.at - text));
	r.is_bad |= number(&r, UINT64_MAX) != hash;
	need(&r, "\n");
	return !r.is_bad && r.at == r.end;
}

enum counters_text_kind
counters_text_check(const char *text, size_t len, uint64_t *created_ns)
{
	struct counters_restored unused = {0};
	struct reading r = {.at = text, .end = text + len, .restored = &unused};

	if (!read_first(&r, created_ns))
		return COUNTERS_FOREIGN;
	if (!has_its_hash(text, len))
		return COUNTERS_DAMAGED;
	read_lines(&r);
	return r.is_bad ? COUNTERS_DAMAGED : COUNTERS_GOOD;
}

struct counters_restored
counters_text_restore(struct rl *rl, const char *text, size_t len)
{
	struct counters_restored restored = {0};
	struct reading r = {.rl = rl,
	                    .now_ns = rl_now(rl),
	                    .at = text,
	                    .end = text + len,
	                    .restored = &restored};
	uint64_t created_ns;

	if (read_first(&r, &created_ns))
		read_lines(&r);
	return restored;
}
