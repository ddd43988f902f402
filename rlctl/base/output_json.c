/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "text/utf8.h"

/* ASCII alone, so that no key can act on a terminal through a JSON string either. */
#define PAGE_FLAGS (JSON_INDENT(2) | JSON_ENSURE_ASCII)
#define LINE_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII)

/* DEL is the one that jansson takes for text. Lines behind the first are moved to the right. */
static void
write_value(FILE *out, json_t *root, size_t flags, int indent)
{
	char *text = need(json_dumps(root, flags));

	for (const char *at = text; *at;) {
		size_t plain = strcspn(at, "\n\x7f");

		fwrite(at, 1, plain, out);
		at += plain;
		if (*at == 0x7f)
			fputs("\\u007F", out);
		else if (*at)
			fprintf(out, "\n%*s", indent, "");
		at += *at != '\0';
	}
	free(text);
	json_decref(root);
}

void
output_json(json_t *root)
{
	write_value(stdout, root, PAGE_FLAGS, 0);
	putchar('\n');
}

void
output_json_line(FILE *out, json_t *root)
{
	write_value(out, root, LINE_FLAGS, 0);
	putc('\n', out);
}

void
output_json_open(FILE *out, const char *array)
{
	fprintf(out, "{\n  \"%s\": [", array);
}

void
output_json_close(FILE *out, bool is_empty)
{
	fputs(is_empty ? "]" : "\n  ]", out);
}

void
output_json_member(FILE *out, const char *name, json_t *value)
{
	fprintf(out, ",\n  \"%s\": ", name);
	write_value(out, value, PAGE_FLAGS | JSON_ENCODE_ANY, 2);
}

void
output_json_end(FILE *out)
{
	fputs("\n}\n", out);
}

json_t *
json_count(uint64_t value)
{
	return need(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *
json_duration(uint64_t ns)
{
	return ns == RL_NEVER_NS ? json_null() : json_count(ns);
}

void
json_put(json_t *object, const char *name, json_t *value)
{
	need(json_object_set_new(object, name, value) == 0 ? object : NULL);
}

void
json_push(json_t *array, json_t *value)
{
	need(json_array_append_new(array, value) == 0 ? array : NULL);
}

static json_t *
json_bytes(const void *bytes, size_t len)
{
	json_t *string;
	char *text;

	if (utf8_is_valid(bytes, len))
		return need(json_stringn(bytes, len));
	text = escape(bytes, len);
	string = need(json_string(text));
	free(text);
	return string;
}

json_t *
json_text(const char *text)
{
	return json_bytes(text, strlen(text));
}

static json_t *
json_hex(const unsigned char *bytes, size_t len)
{
	char *text = need(calloc(2, len + 1));
	json_t *string;

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	string = need(json_string(text));
	free(text);
	return string;
}

void
json_put_key(json_t *object, const struct key_view *key)
{
	if (!key->bytes) {
		json_put(object, "key", json_null());
		json_put(object, "key_id", need(json_sprintf("#%" PRIx64, key->id)));
		return;
	}
	json_put(object, "key", json_bytes(key->bytes, key->kept));
	if (!utf8_is_valid(key->bytes, key->kept))
		json_put(object, "key_hex", json_hex(key->bytes, key->kept));
	if (key->kept < key->len)
		json_put(object, "truncated", json_true());
}
