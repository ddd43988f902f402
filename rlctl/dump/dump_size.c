/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/dump_size.h"

#include <rl_fields.h>
#include <string.h>

#include "base/now.h"
#include "base/option_view.h"
#include "base/output.h"

/* Each option that says how large a segment is made; whose it is is the host's to say. */
static bool
is_of_size(const struct rl_field *field)
{
	return field->kind != RL_FIELD_OTHER;
}

static json_t *
size_of(const struct rl_info *info)
{
	json_t *size = need(json_object());
	const struct rl_field *field;
	struct rl_options o;

	rl_info_options(info, &o);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (is_of_size(field))
			json_put(size, field->name, json_option(field, &o));
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
	json_put(header, "boot_ns", json_count(now_by(CLOCK_BOOTTIME)));
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

/* One that the dumping version did not have is as if nobody had asked. */
static bool
read_option(const json_t *size, const struct rl_field *field, struct rl_options *o)
{
	const char *word = json_string_value(json_object_get(size, field->name));
	uint64_t number;

	if (!json_object_get(size, field->name))
		return true;
	if (field->words ? !word || rl_field_number(field, word, strlen(word), &number) < 0
	                 : !json_read_count(size, field->name, INT64_MAX, &number))
		return false;
	return rl_field_set(field, o, number == 0 ? field->none : number) == 0;
}

static bool
read_options(const json_t *size, struct rl_options *o)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (is_of_size(field) && !read_option(size, field, o))
			return false;
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
	uint64_t before_ns = now_by(CLOCK_BOOTTIME), now_ns = rl_now(rl);
	int64_t shift_ns =
		(int64_t)(now_ns - before_ns) - (int64_t)(size->dumped_ns - size->boot_ns);
	int64_t least = (int64_t)CLOCKS_AGREE_NS;

	return shift_ns > -least && shift_ns < least ? 0 : shift_ns;
}
