/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a configuration file. What is accepted is written in full, read again, must be
 * the same, and is put into a segment; what can be changed in one place must stay JSON, and
 * come back when it is changed back.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apply/apply.h"
#include "edit/splice.h"
#include "load/load.h"
#include "same_config.h"
#include "show/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool is_so)
{
	if (!is_so)
		abort();
}

/* Every message is one line, and of a place in the file. */
static void
hear(enum config_level level, const char *text, void *arg)
{
	(void)arg;
	require(!strchr(text, '\n') && !strchr(text, '\033'));
	require(level == CONFIG_NOTE || level == CONFIG_DETAIL || strncmp(text, "f:", 2) == 0);
}

static void
put_into_segment(const struct config *config)
{
	static struct rl *rl;
	struct rl_config_outcome outcome;

	if (!rl)
		require(rl_open_private(&(struct rl_options){.keys = 64, .ring = 64}, &rl) == 0);
	config_apply(rl, config, RL_CONFIGURE_DRY, &outcome, hear, NULL);
	config_apply(rl, config, 0, &outcome, hear, NULL);
}

static void
read_again(const struct config *config)
{
	json_t *full = config_json(config);
	char *text = json_dumps(full, JSON_COMPACT);
	struct config *again;

	require(text != NULL);
	again = config_parse("f", text, strlen(text), hear, NULL);
	require(again != NULL && same_config(config, again));
	json_decref(full);
	config_free(again);
	free(text);
}

static void
change(const char *text, size_t len, const char *pointer)
{
	char *with, *without;
	size_t with_len, without_len;
	json_t *root;

	if (splice_set(text, len, pointer, "{\"x\": [1]}", &with, &with_len) < 0)
		return;
	root = json_loadb(with, with_len, 0, NULL);
	require(root != NULL);
	json_decref(root);
	if (splice_unset(with, with_len, pointer, &without, &without_len) == 0) {
		root = json_loadb(without, without_len, 0, NULL);
		require(root != NULL);
		json_decref(root);
		free(without);
	}
	free(with);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct config *config = config_parse("f", text, size, hear, NULL);
	json_t *root = json_loadb(text, size, 0, NULL);

	if (config) {
		require(root != NULL);
		read_again(config);
		put_into_segment(config);
	}
	if (root) {
		change(text, size, "/rules/a/limit");
		change(text, size, "/keys/a~1b/-/0");
		change(text, size, "/0/1");
	}
	json_decref(root);
	config_free(config);
	return 0;
}
