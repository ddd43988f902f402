/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/holders.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const states[] = {
	[RL_HOLDER_ALIVE] = "alive",
	[RL_HOLDER_DEAD] = "dead",
	[RL_HOLDER_ELSEWHERE] = "elsewhere",
};

/* As the kernel names it; whoever runs may choose that. */
static void
read_command(struct holder *holder)
{
	char path[40];
	FILE *from;

	snprintf(path, sizeof(path), "/proc/%d/comm", holder->pid);
	from = holder->pid > 0 && holder->state == RL_HOLDER_ALIVE ? fopen(path, "re") : NULL;
	if (!from)
		return;
	if (fgets(holder->command, sizeof(holder->command), from))
		holder->command[strcspn(holder->command, "\n")] = '\0';
	fclose(from);
}

static int
add_holder(const struct rl_holder *is, void *arg)
{
	struct holders *found = arg;
	struct holder holder = {
		.limit = is->limit, .units = is->units, .pid = is->pid, .state = is->state};

	read_command(&holder);
	found->items = array_grow(found->items, found->count, &found->room, sizeof(*found->items));
	found->items[found->count++] = holder;
	return 0;
}

static int
compare_units(const void *left, const void *right)
{
	const struct holder *a = left, *b = right;

	if (a->units != b->units)
		return a->units < b->units ? 1 : -1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

struct holders
holders_collect(struct rl *rl, int rule, const struct key_view *key)
{
	struct holders found = {0};

	rl_holders_walk(rl, rule, key->bytes, key->len, add_holder, &found);
	if (found.count > 0)
		qsort(found.items, found.count, sizeof(*found.items), compare_units);
	return found;
}

void
holders_free(struct holders *holders)
{
	free(holders->items);
}

static void
print_state(FILE *out, const struct holder *holder)
{
	switch (holder->state) {
	case RL_HOLDER_ALIVE:
		fputs("alive\n", out);
		break;
	case RL_HOLDER_DEAD:
		fputs("dead: comes back to the next who is denied, or by a sweep\n", out);
		break;
	case RL_HOLDER_ELSEWHERE:
		fputs("in another pid namespace, not to be seen from here\n", out);
		break;
	}
}

void
holders_print(FILE *out, const struct holders *holders, unsigned limit)
{
	for (size_t i = 0; i < holders->count; i++) {
		const struct holder *holder = &holders->items[i];

		if (holder->limit != limit)
			continue;
		fprintf(out, "held         %" PRIu32 " by ", holder->units);
		if (holder->pid > 0)
			fprintf(out, "pid %d", holder->pid);
		else
			fputs("an unknown process", out);
		if (holder->command[0]) {
			fputs(" (", out);
			output_bytes(out, holder->command, strlen(holder->command));
			putc(')', out);
		}
		fputs(", ", out);
		print_state(out, holder);
	}
}

json_t *
holders_json(const struct holders *holders, unsigned limit)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < holders->count; i++) {
		const struct holder *holder = &holders->items[i];
		json_t *object = need(json_object());

		json_put(object, "units", json_count(holder->units));
		json_put(object, "pid",
		         holder->pid > 0 ? json_count((uint64_t)holder->pid) : json_null());
		json_put(object, "command",
		         holder->command[0] ? json_text(holder->command) : json_null());
		json_put(object, "state", json_text(states[holder->state]));
		if (holder->limit == limit)
			json_push(array, object);
		else
			json_decref(object);
	}
	return array;
}
