/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OUTPUT_H
#define RLCTL_OUTPUT_H

/*
 * Everything that rlctl writes to stdout goes through here.
 * Keys are chosen by clients, so no byte of them reaches a terminal unescaped.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/complain.h"

/* Flush stdout; false if that failed, which output_finish() tells. */
bool output_flush(void);

/* Flush stdout; false after a message if anything written to it was lost. */
bool output_finish(void);

/* A key as far as it is known. */
struct key_view {
	const void *bytes; /* NULL: lost */
	size_t kept;       /* bytes at `bytes` */
	size_t len;        /* bytes in the whole key */
	uint64_t id;       /* stands for a lost key */
};

void output_key(FILE *out, const struct key_view *key);
/* The same as a text, which text_cut() may cut. To be freed. */
char *key_text(const struct key_view *key);

void output_bytes(FILE *out, const void *bytes, size_t len);

/* As a word that bash and zsh read as these bytes: in $'...' unless it is plain. */
void output_word(FILE *out, const void *bytes, size_t len);

/* `width` columns for `most`, at least one for anything above 0; counts below 2^57. */
void output_bar(FILE *out, uint64_t value, uint64_t most, unsigned width);

struct time_text {
	char text[40];
};

/* Unix time as UTC; with milliseconds if asked. */
struct time_text time_format(uint64_t unix_ns, bool with_ms);

/* Write a JSON document and give it up. Every function below ends the program if there is
 * no memory. */
void output_json(json_t *root);
void output_json_line(FILE *out, json_t *root); /* on one line, for streams of documents */

/*
 * A document with an array of any length, whose elements are written by who opens it, so that it
 * never is in memory as a whole. Behind it, other members may follow.
 */
void output_json_open(FILE *out, const char *array);
void output_json_close(FILE *out, bool is_empty);
void output_json_member(FILE *out, const char *name, json_t *value);
void output_json_end(FILE *out);

json_t *json_count(uint64_t value);  /* an integer, at most 2^63 - 1 */
json_t *json_duration(uint64_t ns);  /* the same; null for RL_NEVER_NS */
json_t *json_text(const char *text); /* a string of any bytes, \xNN where needed */
void json_put(json_t *object, const char *name, json_t *value);
void json_push(json_t *array, json_t *value);
void json_put_key(json_t *object, const struct key_view *key); /* key, key_hex, truncated */

#endif
