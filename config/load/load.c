/* SPDX-License-Identifier: BSD-2-Clause */
/* A file from its bytes to a struct config: jansson reads it, a scan finds where each value
 * stands, and both are walked together. */

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "apply/apply.h"
#include "load/load.h"
#include "model/cluster.h"
#include "model/geometry.h"
#include "model/ruleset.h"
#include "read/json_text.h"
#include "read/source.h"
#include "text/file.h"

const char *
config_path(const char *option)
{
	const char *environment = secure_getenv("RL_CONFIG");

	if (option)
		return option;
	return environment && *environment ? environment : CONFIG_DEFAULT_PATH;
}

enum top_id {
	TOP_SEGMENT,
	TOP_CLUSTER,
	TOP_GC,
	TOP_RULES,
	TOP_KEYS,
	TOP_IDS
};

static const struct field top_fields[] = {
	{"segment", read_any, TOP_SEGMENT, 0, 0, NULL},
	{"cluster", read_any, TOP_CLUSTER, 0, 0, NULL},
	{"gc", read_any, TOP_GC, 0, 0, NULL},
	{"rules", read_any, TOP_RULES, 0, 0, NULL},
	{"keys", read_any, TOP_KEYS, 0, 0, NULL},
	{0},
};

static struct node
node_of(const struct value *value)
{
	return (struct node){value->json, value->token};
}

static void
read_top(struct reader *reader, json_t *root, struct config *config)
{
	static const struct field *const tables[] = {top_fields, NULL};
	struct value v[TOP_IDS] = {0};

	read_fields(reader, (struct node){root, 0}, tables, v);
	if (!rules_room(reader, config, json_object_size(v[TOP_RULES].json) + 1))
		return;
	if (v[TOP_SEGMENT].token)
		read_segment(reader, node_of(&v[TOP_SEGMENT]), config);
	if (v[TOP_CLUSTER].token)
		read_cluster(reader, node_of(&v[TOP_CLUSTER]), config);
	reader->ring = config->options.ring > 0 ? config->options.ring : RL_RING_MAX;
	reader->has_cluster = config->cluster.is_there;
	if (v[TOP_GC].token)
		read_gc(reader, node_of(&v[TOP_GC]), config);
	if (v[TOP_RULES].token)
		read_rules(reader, node_of(&v[TOP_RULES]), config);
	if (v[TOP_KEYS].token)
		read_keys(reader, node_of(&v[TOP_KEYS]), config);
	if (reader->report->errors == 0)
		segment_fit(reader, config);
}

/* False after an error was told. */
static bool
read_root(struct config *config, json_t *root, bool reports_all, config_sink *sink, void *arg)
{
	struct config_source *source = config->source;
	struct report report = {
		.path = config->path,
		.text = source->text,
		.len = (uint32_t)source->len,
		.tokens = &source->tokens,
		.reports_all_warnings = reports_all,
	};
	struct reader reader = {.report = &report, .source = source};
	bool is_good;

	read_top(&reader, root, config);
	if (report.errors == 0)
		apply_try(&report, config);
	is_good = report.errors == 0;
	report_flush(&report, sink, arg);
	return is_good;
}

static bool
read_text_of(struct config *config, bool reports_all, config_sink *sink, void *arg)
{
	struct config_source *source = config->source;
	json_t *root = json_text_read(config->path, source->text, source->len, sink, arg);
	int problem;
	bool is_good;

	if (!root)
		return false;
	problem = tokens_scan(source->text, source->len, &source->tokens);
	if (problem < 0) {
		report_line(config->path, 0, 0, CONFIG_ERROR, strerror(-problem), sink, arg);
		is_good = false;
	} else {
		is_good = read_root(config, root, reports_all, sink, arg);
	}
	json_decref(root);
	return is_good;
}

static struct config *
parse(const char *path, const char *text, size_t len, bool reports_all, config_sink *sink,
      void *arg)
{
	struct config *config = config_create(path);

	if (config)
		config->source->text = malloc(len + 1);
	if (!config || !config->source->text) {
		report_line(path, 0, 0, CONFIG_ERROR, NULL, sink, arg);
		config_free(config);
		return NULL;
	}
	memcpy(config->source->text, text, len);
	config->source->text[len] = '\0';
	config->source->len = len;
	if (read_text_of(config, reports_all, sink, arg))
		return config;
	config_free(config);
	return NULL;
}

const char *
config_read_error(int error)
{
	return error == -EFBIG ? "is larger than 256 MiB" : file_strerror(error);
}

struct config *
config_parse(const char *path, const char *text, size_t len, config_sink *sink, void *arg)
{
	return parse(path, text, len, false, sink, arg);
}

struct config *
config_parse_to_check(const char *path, const char *text, size_t len, config_sink *sink, void *arg)
{
	return parse(path, text, len, true, sink, arg);
}

static struct config *
load(const char *path, bool reports_all, config_sink *sink, void *arg)
{
	struct config *config;
	char *text;
	size_t len;
	int error = file_read(path, CONFIG_BYTES_MAX, &text, &len);

	if (error < 0) {
		report_line(path, 0, 0, CONFIG_ERROR, config_read_error(error), sink, arg);
		return NULL;
	}
	config = parse(path, text, len, reports_all, sink, arg);
	free(text);
	malloc_trim(0); /* what it took to read a large file is many times what stays of it */
	return config;
}

struct config *
config_load(const char *path, config_sink *sink, void *arg)
{
	return load(path, false, sink, arg);
}

struct config *
config_load_to_check(const char *path, config_sink *sink, void *arg)
{
	return load(path, true, sink, arg);
}
