/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * resize: another table for a live segment. Its processes go over by themselves; this moves the
 * keys that nobody asks for.
 */

#include <errno.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <rl_fields.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/command.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/output.h"
#include "base/progress.h"
#include "text/error_text.h"

#define SLICE 16384 /* slots between two looks at signals */

/*
 * Of a segment's options these two, for they are all that rl_resize() takes: the rest was laid out
 * when it was made.
 */
const struct command_option resize_options[] = {
	{"keys", 'k', "N", "room for so many keys; 5M is five million, 200k as many thousand"},
	{"ring", 'r', "N", "entries kept for each key; not fewer than there are"},
	{"dry-run", 'n', NULL, "say what would be made, and what that takes; change nothing"},
	{0},
};

struct resize {
	struct rl *rl;
	struct rl_resize to;
	struct rl_info was, is;
	bool is_asked; /* for other sizes; else a move is only gone on with */
	bool is_dry;
	uint64_t left; /* keys that stay for now */
	bool is_over;  /* all have moved */
};

/* 200k, 5M, or a plain number; what the option of that name of a segment may be. */
static bool
size_read(const struct context *context, const char *name, uint32_t *size)
{
	const struct rl_field *field = rl_field_find(RL_OF_OPTIONS, name, strlen(name));
	const char *text = option_value(context, name), *end = text;
	uint64_t number = 0, unit = 1;
	bool is_number;

	if (!text)
		return true;
	is_number = number_read(&end, &number);
	if (is_number && (*end == 'k' || *end == 'M'))
		unit = *end++ == 'k' ? 1000 : 1000000;
	if (!is_number || *end != '\0' || number < field->least || number > field->most / unit) {
		complain("--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64
		         ", such as 200k or 5M",
		         name, text, field->least, field->most);
		return false;
	}
	*size = (uint32_t)(number * unit);
	return true;
}

static bool
read_options(const struct context *context, struct resize *r)
{
	r->is_dry = option_value(context, "dry-run") != NULL;
	if (!size_read(context, "keys", &r->to.keys) || !size_read(context, "ring", &r->to.ring))
		return false;
	r->is_asked = r->to.keys > 0 || r->to.ring > 0;
	return true;
}

static struct bytes_text
all_bytes(const struct resize *r)
{
	return bytes_format(r->to.bytes);
}

static void
complain_refused(const struct resize *r, int error)
{
	switch (error) {
	case RL_EKEYS:
		complain("resize: %" PRIu64 " keys are counted now, and room for %" PRIu32
		         " is too little for them",
		         r->to.keys_used, r->to.keys);
		break;
	case RL_ERING:
		complain("resize: a ring of %" PRIu32 " is shorter than that of %" PRIu32
		         " there is, and what it holds would be lost",
		         r->to.ring, r->was.ring);
		break;
	case -ENOSPC:
		complain("resize: %s are needed beside what the segment has, and /dev/shm has less "
		         "left; nothing has changed",
		         all_bytes(r).text);
		break;
	case RL_EMEMORY:
	case -EFBIG:
		complain("resize: %s are needed beside what the segment has: %s; nothing has "
		         "changed",
		         all_bytes(r).text, error_text(error).text);
		break;
	default:
		complain("resize: %s; nothing has changed", error_text(error).text);
	}
}

/* All slots of the table before. 0 or an error. */
static int
move_keys(struct resize *r)
{
	struct rl_moving moving = {0};
	uint64_t slots = r->is.slots_before;
	int moved = 0;

	for (uint64_t first = 0; first < slots && moved == 0 && !interrupt_came(); first += SLICE) {
		moved = rl_move_slots_at(r->rl, first, SLICE, rl_now(r->rl), &moving);
		progress_show("moving, per cent:", first * 100 / slots);
	}
	progress_erase();
	r->left = moving.left;
	if (moved < 0)
		return moved;
	moved = rl_move_end(r->rl);
	r->is_over = moved == 1;
	return moved < 0 ? moved : 0;
}

static int
run(struct resize *r)
{
	int error = 0;

	rl_info(r->rl, &r->was);
	if (r->is_asked)
		error = rl_resize(r->rl, &r->to, r->is_dry ? RL_RESIZE_DRY : 0);
	if (error < 0) {
		complain_refused(r, error);
		return EXIT_TROUBLE;
	}
	rl_info(r->rl, &r->is);
	if (r->is_dry)
		return EXIT_YES;
	error = move_keys(r);
	if (error < 0)
		complain("resize: the keys go on moving when they are asked for; %s",
		         error_text(error).text);
	rl_info(r->rl, &r->is);
	return error < 0 ? EXIT_TROUBLE : EXIT_YES;
}

static void
print_sizes(const struct resize *r)
{
	struct bytes_text before = bytes_format(r->to.bytes_before);

	printf("keys     %" PRIu64 " found room", r->was.keys);
	if (r->to.keys > 0)
		printf(", %" PRIu32 " do", r->to.keys);
	printf("; %" PRIu64 " are counted\n", r->to.keys_used);
	printf("ring     %" PRIu32, r->was.ring);
	if (r->to.ring > 0)
		printf(", then %" PRIu32, r->to.ring);
	printf("\nmemory   %s, then %s; both until the keys have moved\n", before.text,
	       all_bytes(r).text);
}

static void
print_text(const struct resize *r)
{
	if (r->is_asked)
		print_sizes(r);
	if (r->is_dry)
		puts("changed  nothing");
	else if (!r->is_asked && r->was.slots_before == 0)
		puts("moved    nothing: no keys were on their way");
	else if (r->is_over)
		puts("moved    all; the memory of the table before is given back");
	else
		printf("moved    all but %" PRIu64 ", which go when they are asked for or over; "
		       "rld tries again, and so does 'rlctl resize'\n",
		       r->left);
}

static void
print_json(const struct resize *r)
{
	json_t *root = need(json_object());

	json_put(root, "keys", json_count(r->is_dry && r->to.keys > 0 ? r->to.keys : r->is.keys));
	json_put(root, "keys_before", json_count(r->was.keys));
	json_put(root, "ring", json_count(r->is_dry && r->to.ring > 0 ? r->to.ring : r->is.ring));
	json_put(root, "ring_before", json_count(r->was.ring));
	json_put(root, "counted", json_count(r->to.keys_used));
	json_put(root, "bytes", json_count(r->to.bytes));
	json_put(root, "bytes_before", json_count(r->to.bytes_before));
	json_put(root, "dry_run", json_boolean(r->is_dry));
	json_put(root, "left", json_count(r->left));
	json_put(root, "moved", json_boolean(!r->is_dry && r->is_over));
	output_json(root);
}

int
run_resize(const struct context *context)
{
	struct resize r = {0};
	int status;

	if (!read_options(context, &r))
		return EXIT_TROUBLE;
	r.rl = r.is_dry ? open_segment(context) : open_segment_writable(context);
	if (!r.rl)
		return EXIT_TROUBLE;
	interrupt_catch();
	status = run(&r);
	if (status == EXIT_YES) {
		if (option_value(context, "json"))
			print_json(&r);
		else
			print_text(&r);
	}
	if (status == EXIT_YES && interrupt_came()) {
		complain("resize: interrupted; the keys go on moving when they are asked for");
		status = EXIT_TROUBLE;
	}
	return status;
}
