/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit_view.h"
#include "base/output.h"
#include "replay/replay_report.h"

/* Most denied first, then most requests; equals in the order of their bytes. */
static int
compare_denied(const void *left, const void *right)
{
	const struct replay_key *a = *(struct replay_key *const *)left;
	const struct replay_key *b = *(struct replay_key *const *)right;
	int order;

	if (a->denied != b->denied)
		return a->denied > b->denied ? -1 : 1;
	if (a->requests != b->requests)
		return a->requests > b->requests ? -1 : 1;
	order = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static void
sort_keys(struct replay *replay)
{
	struct events *events = &replay->events;

	if (events->key_count > 0)
		qsort(events->keys, events->key_count, sizeof(*events->keys), compare_denied);
}

static struct key_view
view_key(const struct replay_key *key)
{
	return (struct key_view){.bytes = key->bytes, .kept = key->len, .len = key->len};
}

static void
print_totals(const struct replay *replay)
{
	const struct events *events = &replay->events;

	printf("requests      %zu\n", events->count);
	printf("keys          %zu\n", events->key_count);
	printf("admitted      %" PRIu64 "\n", replay->admitted);
	printf("denied        %" PRIu64 "\n", replay->denied);
	printf("keys_denied   %" PRIu64 "\n", replay->keys_denied);
	printf("unreadable    %" PRIu64 "\n", events->unreadable);
	printf("out_of_order  %" PRIu64 "\n", events->out_of_order);
}

static void
print_span(const struct events *events)
{
	if (events->count == 0)
		return;
	printf("first         %s UTC\n", time_format(events->first_ns, false).text);
	printf("last          %s UTC\n", time_format(events->last_ns, false).text);
}

static void
print_top(const struct replay *replay, size_t top)
{
	if (top == 0)
		return;
	printf("\nmost limited\n%10s  %10s  %s\n", "denied", "requests", "key");
	for (size_t i = 0; i < top; i++) {
		const struct replay_key *key = replay->events.keys[i];
		struct key_view view = view_key(key);

		printf("%10" PRIu64 "  %10" PRIu64 "  ", key->denied, key->requests);
		output_key(stdout, &view);
		putchar('\n');
	}
}

static void
write_text(const struct replay *replay, size_t top)
{
	printf("limit         %s\n", limit_format(&replay->limit).text);
	print_totals(replay);
	print_span(&replay->events);
	print_top(replay, top);
	if (replay->chart.count > 0)
		chart_print(&replay->chart);
}

static json_t *
json_top(const struct replay *replay, size_t top)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < top; i++) {
		const struct replay_key *key = replay->events.keys[i];
		struct key_view view = view_key(key);
		json_t *object = need(json_object());

		json_put_key(object, &view);
		json_put(object, "requests", json_count(key->requests));
		json_put(object, "denied", json_count(key->denied));
		json_push(array, object);
	}
	return array;
}

static void
write_json(const struct replay *replay, size_t top)
{
	const struct events *events = &replay->events;
	json_t *root = need(json_object());

	json_put(root, "requests", json_count(events->count));
	json_put(root, "keys", json_count(events->key_count));
	json_put(root, "admitted", json_count(replay->admitted));
	json_put(root, "denied", json_count(replay->denied));
	json_put(root, "keys_denied", json_count(replay->keys_denied));
	json_put(root, "unreadable", json_count(events->unreadable));
	json_put(root, "out_of_order", json_count(events->out_of_order));
	json_put(root, "first_ns", json_count(events->first_ns));
	json_put(root, "last_ns", json_count(events->last_ns));
	json_put(root, "top", json_top(replay, top));
	json_put(root, "chart_width_ns", json_count(replay->chart.width_ns));
	json_put(root, "chart", chart_json(&replay->chart));
	output_json(root);
}

void
replay_report(struct replay *replay, size_t top, bool is_json)
{
	sort_keys(replay);
	if (top > replay->keys_denied)
		top = (size_t)replay->keys_denied;
	if (is_json)
		write_json(replay, top);
	else
		write_text(replay, top);
}
