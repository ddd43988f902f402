/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define SECONDS_MAX (UINT64_C(1) << 33) /* below 2^63 ns */

/* The limit that generated traffic meets, and a start that is a multiple of its window. */
#define CAPACITY 100
#define WINDOW_NS (60 * SECOND_NS)
#define START_NS (UINT64_C(28333334) * WINDOW_NS)

#define BURST_NS (WINDOW_NS / 100) /* how long a burst of CAPACITY requests lasts */

#define ZIPF_KEYS 10000
#define ZIPF_PER_WINDOW 3000 /* requests in a window, of all keys: three keys exceed the limit */
#define ZIPF_ONE (UINT64_C(1) << 32)

static void *
need(void *p)
{
	if (!p)
		err(2, NULL);
	return p;
}

/* splitmix64 */
static uint64_t
draw(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number below `limit`. */
static uint64_t
draw_below(uint64_t *seed, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)draw(seed) * limit >> 64);
}

/*
 * Poisson arrivals, `per_window` on average: given how many there are, they are independent
 * instants of the whole span, each as likely as any other. Sorted later.
 */
static void
arrive(struct traffic *t, uint64_t per_window, uint64_t *seed)
{
	uint64_t span = (uint64_t)((unsigned __int128)t->count * t->window_ns / per_window);

	for (uint32_t i = 0; i < t->count; i++)
		t->requests[i].now_ns = START_NS + draw_below(seed, span);
}

static void
make_steady(struct traffic *t, unsigned percent, uint64_t *seed)
{
	t->keys = 1;
	arrive(t, t->capacity * (uint64_t)percent / 100, seed);
}

/* In each window a pair of bursts of `capacity` requests, one before an instant, one after. */
static void
make_bursts(struct traffic *t, unsigned has_phase, uint64_t *seed)
{
	uint64_t middle = START_NS;

	t->keys = 1;
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t burst = i / t->capacity;
		if (i % (2 * t->capacity) == 0)
			middle = START_NS + (burst / 2 + 1) * t->window_ns +
			         (has_phase ? draw_below(seed, t->window_ns) : 0);
		uint64_t start = burst % 2 == 0 ? middle - BURST_NS : middle;
		t->requests[i].now_ns = start + draw_below(seed, BURST_NS);
	}
}

/* The first of `sums` above `x`. */
static uint32_t
place(const uint64_t *sums, uint32_t count, uint64_t x)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (sums[middle] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Key number k is asked for 1 / (k + 1) as often as the first. */
static void
make_zipf(struct traffic *t, unsigned unused, uint64_t *seed)
{
	static uint64_t sums[ZIPF_KEYS];
	uint64_t sum = 0;

	(void)unused;
	t->keys = ZIPF_KEYS;
	for (uint32_t i = 0; i < ZIPF_KEYS; i++)
		sums[i] = sum += ZIPF_ONE / (i + 1);
	arrive(t, ZIPF_PER_WINDOW, seed);
	for (uint32_t i = 0; i < t->count; i++)
		t->requests[i].key = place(sums, ZIPF_KEYS, draw_below(seed, sum));
}

static const struct {
	const char *name;
	void (*make)(struct traffic *t, unsigned argument, uint64_t *seed);
	unsigned argument;
} kinds[] = {
	{"steady, Poisson at 80 % of the limit", make_steady, 80},
	{"steady, Poisson at 100 % of the limit", make_steady, 100},
	{"steady, Poisson at 150 % of the limit", make_steady, 150},
	{"bursts of the limit before and after each multiple of the window", make_bursts, 0},
	{"the same pairs of bursts, each at a random phase", make_bursts, 1},
	{"Zipf(1.0), three keys over the limit", make_zipf, 0},
};

/* Requests that compare equal are alike, so that sorting has one outcome. */
static int
by_time(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->now_ns != y->now_ns)
		return x->now_ns < y->now_ns ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

int
traffic_make(int kind, uint32_t count, struct traffic *t)
{
	uint64_t seed = (uint64_t)kind;

	if ((size_t)kind >= sizeof kinds / sizeof *kinds)
		return 0;
	*t = (struct traffic){
		.name = kinds[kind].name,
		.capacity = CAPACITY,
		.window_ns = WINDOW_NS,
		.count = count,
		.requests = need(calloc(count, sizeof *t->requests)),
	};
	kinds[kind].make(t, kinds[kind].argument, &seed);
	qsort(t->requests, count, sizeof *t->requests, by_time);
	return 1;
}

uint64_t
traffic_ns(const char *text, char **end)
{
	*end = (char *)(uintptr_t)text;
	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	uint64_t seconds = strtoull(text, end, 10);
	if (errno || seconds >= SECONDS_MAX) {
		*end = (char *)(uintptr_t)text;
		return 0;
	}
	uint64_t ns = seconds * SECOND_NS;
	if (**end != '.')
		return ns;
	for (uint64_t unit = SECOND_NS / 10; isdigit((unsigned char)*++*end); unit /= 10)
		ns += (uint64_t)(**end - '0') * unit;
	return ns;
}

/* A key's name and number, in a tsearch() tree. */
struct name {
	uint32_t key;
	char text[];
};

static int
by_text(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* The number of the key called `text`: the next one if it is new. */
static uint32_t
number(void **names, const char *text, uint32_t *keys)
{
	struct name *name = need(malloc(sizeof *name + strlen(text) + 1));

	name->key = *keys;
	strcpy(name->text, text);
	struct name *found = *(struct name **)need(tsearch(name, names, by_text));
	if (found == name)
		++*keys;
	else
		free(name);
	return found->key;
}

static void
append(struct traffic *t, struct request r)
{
	if ((t->count & (t->count - 1)) == 0) { /* full at each power of two */
		size_t room = t->count ? 2 * (size_t)t->count : 1;
		t->requests = need(reallocarray(t->requests, room, sizeof r));
	}
	if (t->count > 0 && t->requests[t->count - 1].now_ns > r.now_ns)
		r.now_ns = t->requests[t->count - 1].now_ns;
	t->requests[t->count++] = r;
}

static void
read_lines(FILE *file, struct traffic *t)
{
	void *names = NULL;
	char *line = NULL, *key;
	size_t size = 0;

	while (getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		uint64_t now_ns = traffic_ns(line, &key);
		size_t gap = strspn(key, " \t");
		if (key == line || gap == 0 || key[gap] == '\0' || t->count == INT32_MAX)
			errx(2, "%s, line %u: expected <decimal seconds> <key>", t->name,
			     t->count + 1);
		append(t, (struct request){now_ns, number(&names, key + gap, &t->keys)});
	}
	free(line);
	tdestroy(names, free);
}

void
traffic_read(const char *path, uint32_t capacity, uint64_t window_ns, struct traffic *t)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

	*t = (struct traffic){.name = path, .capacity = capacity, .window_ns = window_ns};
	if (!file)
		err(2, "%s", path);
	read_lines(file, t);
	if (ferror(file))
		err(2, "%s", path);
	if (file != stdin)
		fclose(file);
	if (t->count == 0)
		errx(2, "%s: no requests", path);
}

void
traffic_free(struct traffic *t)
{
	free(t->requests);
}
