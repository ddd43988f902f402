/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/dump_size.h"

#include <rl_fields.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "text/names.h"

static uint64_t
boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * RL_SECOND + (uint64_t)now.tv_nsec;
}

static json_t *
size_of(const struct rl_info *info)
{
	json_t *size = need(json_object());

	json_put(size, "keys", json_count(info->keys));
	json_put(size, "ring", json_count(info->ring));
	json_put(size, "key_bytes", json_count(info->key_bytes));
	json_put(size, "rules", json_count(info->rules));
	json_put(size, "overrides", json_count(info->overrides));
	json_put(size, "bans", json_count(info->bans));
	json_put(size, "holders", json_count(info->holders));
	json_put(size, "on_full", json_text(on_full_name(info->on_full)));
	json_put(size, "buffer_ns", json_count(info->buffer_ns));
	json_put(size, "cells", json_count(info->cells));
	json_put(size, "reserves", json_count(info->reserves));
	json_put(size, "events", json_count(info->events));
	json_put(size, "huge_pages", json_boolean(info->huge_pages));
	json_put(size, "cluster", json_boolean(info->is_clustered));
	return size;
}

/*
 * The host's clock last here, and first where it is read: so no moment is taken for an earlier one.
 */
void
dump_size_put(json_t *header, struct rl *rl, const struct rl_info *info)
{
	uint64_t now_ns = rl_now(rl);

	json_put(header, "dumped_ns", json_count(now_ns));
	json_put(header, "boot_ns", json_count(boot_ns()));
	json_put(header, "layout", json_count(info->layout));
	json_put(header, "size", size_of(info));
}

bool
json_read_count(const json_t *object, const char *name, uint64_t most, uint64_t *value)
{
	const json_t *member = json_object_get(object, name);
	json_int_t number = json_integer_value(member);

	*value = (uint64_t)number;
	return json_is_integer(member) && number >= 0 && *value <= most;
}

bool
json_read_count32(const json_t *object, const char *name, uint32_t most, uint32_t *value)
{
	uint64_t number;

	if (!json_read_count(object, name, most, &number))
		return false;
	*value = (uint32_t)number;
	return true;
}

static bool
read_options(const json_t *size, struct rl_options *o)
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, "on_full", 7);
	const char *on_full = json_string_value(json_object_get(size, field->word));
	uint64_t which;

	if (!on_full || rl_field_number(field, on_full, strlen(on_full), &which) < 0 ||
	    !json_read_count32(size, "keys", UINT32_MAX, &o->keys) ||
	    !json_read_count32(size, "ring", RL_RING_MAX, &o->ring) ||
	    !json_read_count32(size, "key_bytes", RL_KEY_MAX, &o->key_bytes) ||
	    !json_read_count32(size, "rules", RL_RULES_MAX, &o->rules) ||
	    !json_read_count32(size, "overrides", UINT32_MAX, &o->overrides) ||
	    !json_read_count32(size, "bans", UINT32_MAX, &o->bans) ||
	    !json_read_count32(size, "holders", UINT32_MAX, &o->holders) ||
	    !json_read_count(size, "buffer_ns", INT64_MAX, &o->buffer_ns) ||
	    !json_read_count32(size, "cells", UINT32_MAX, &o->cells) ||
	    !json_read_count32(size, "reserves", UINT32_MAX, &o->reserves) ||
	    !json_read_count32(size, "events", UINT32_MAX, &o->events))
		return false;
	o->on_full = (enum rl_on_full)which;
	o->key_bytes = o->key_bytes > 0 ? o->key_bytes : RL_KEY_BYTES_NONE;
	o->events = o->events > 0 ? o->events : RL_EVENTS_NONE;
	o->flags = json_is_true(json_object_get(size, "huge_pages")) ? RL_OPEN_HUGE_PAGES : 0;
	o->flags |= json_is_true(json_object_get(size, "cluster")) ? RL_OPEN_CLUSTER : 0;
	return true;
}

bool
dump_size_read(const json_t *header, struct dump_size *size)
{
	const json_t *object = json_object_get(header, "size");

	size->is_known = object != NULL;
	return !object || (json_read_count32(header, "layout", UINT32_MAX, &size->layout) &&
	                   json_read_count(header, "dumped_ns", INT64_MAX, &size->dumped_ns) &&
	                   json_read_count(header, "boot_ns", INT64_MAX, &size->boot_ns) &&
	                   read_options(object, &size->options));
}

int64_t
dump_size_shift_ns(const struct dump_size *size, struct rl *rl)
{
	uint64_t before_ns = boot_ns(), now_ns = rl_now(rl);
	int64_t shift_ns =
		(int64_t)(now_ns - before_ns) - (int64_t)(size->dumped_ns - size->boot_ns);
	int64_t least = (int64_t)CLOCKS_AGREE_NS;

	return shift_ns > -least && shift_ns < least ? 0 : shift_ns;
}
