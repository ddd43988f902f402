/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: what a part of a request is to be. Values are texts, in any case; ".example.com",
 * which is each name below it; of an address, networks; and files of these, a line each. They are
 * read with the settings, and sorted, so that a request looks few of many up.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policyd.h"

#define LIST_FILE_MAX (64 * 1024 * 1024)

static int
order(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* Another place at the end of an array of `count`; NULL: no memory. It doubles at powers of two. */
static void *
grow(void **array, size_t count, size_t size)
{
	if ((count & (count - 1)) == 0) {
		void *larger = realloc(*array, (count > 0 ? 2 * count : 1) * size);

		if (!larger)
			return NULL;
		*array = larger;
	}
	return (char *)*array + count * size;
}

/* "192.0.2.0/24", or an address. */
static bool
network_read(const char *value, struct address *network)
{
	const char *slash = strchr(value, '/');
	struct text text = {value, slash ? (size_t)(slash - value) : strlen(value)};
	unsigned family;
	char *end;

	if (!address_read(text, network))
		return false;
	family = network->bits;
	if (slash) {
		unsigned long bits = strtoul(slash + 1, &end, 10);

		if (!isdigit((unsigned char)slash[1]) || *end || bits > family)
			return false;
		network->bits = (uint8_t)bits;
	}
	network->is_v4 = family == 32;
	address_mask(network->bytes, network->bits);
	return true;
}

/* One value; what is wrong with it, or NULL. */
static const char *
add_value(struct term *term, const char *value)
{
	struct address network;
	void *place;

	if (part_is_address(&term->part) && term->part.kind == PART_WHOLE && value[0]) {
		if (!network_read(value, &network))
			return "is no address and no network";
		place = grow((void **)&term->networks, term->network_count, sizeof network);
		if (!place)
			return "there is no memory for it";
		memcpy(place, &network, sizeof network);
		term->network_count++;
		return NULL;
	}
	place = grow((void **)&term->texts, term->text_count, sizeof(char *));
	if (!place || !(*(char **)place = strdup(value)))
		return "there is no memory for it";
	term->text_count++;
	return NULL;
}

/* The value of a line: without blanks around it, and what is behind a '#' at its beginning. */
static char *
line_value(char *line)
{
	size_t len;

	line += strspn(line, " \t");
	len = strcspn(line, "\r\n");
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	line[len] = '\0';
	return line[0] == '#' ? line + len : line;
}

static const char *
add_lines(struct term *term, FILE *file, char *text, size_t size)
{
	const char *fault = NULL;
	char *line = NULL;
	size_t room = 0;

	for (unsigned number = 1; !fault && getline(&line, &room, file) >= 0; number++) {
		char *value = line_value(line);

		fault = value[0] ? add_value(term, value) : NULL;
		if (fault) {
			snprintf(text, size, "line %u, '%.60s', %s", number, value, fault);
			fault = text;
		}
	}
	free(line);
	return fault;
}

static const char *
add_file(struct term *term, const char *path, char *text, size_t size)
{
	struct stat st;
	FILE *file;
	const char *fault;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > LIST_FILE_MAX)
		return "it cannot be read, or is no file of at most 64 MiB";
	file = fopen(path, "re");
	if (!file)
		return "it cannot be read";
	fault = add_lines(term, file, text, size);
	fclose(file);
	return fault;
}

const char *
term_add(struct term *term, const char *value, char *text, size_t size)
{
	return strncmp(value, "file:", 5) == 0 ? add_file(term, value + 5, text, size)
	                                       : add_value(term, value);
}

void
term_sort(struct term *term)
{
	if (term->text_count > 0)
		qsort(term->texts, term->text_count, sizeof *term->texts, order);
}

void
conditions_free(struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->count; i++) {
		struct term *term = &conditions->terms[i];

		for (size_t j = 0; j < term->text_count; j++)
			free(term->texts[j]);
		free(term->texts);
		free(term->networks);
	}
	conditions->count = 0;
}

static bool
has_text(const struct term *term, const char *value)
{
	return term->text_count > 0 &&
	       bsearch(&value, term->texts, term->text_count, sizeof *term->texts, order);
}

/* The value itself, or a ".domain" that it is below. */
static bool
is_text_of(const struct term *term, struct text value)
{
	char copy[VALUE_MAX];

	if (value.len >= sizeof copy)
		return false;
	memcpy(copy, value.bytes, value.len);
	copy[value.len] = '\0';
	if (has_text(term, copy))
		return true;
	for (const char *dot = strchr(copy, '.'); dot; dot = strchr(dot + 1, '.'))
		if (dot > copy && has_text(term, dot))
			return true;
	return false;
}

static bool
is_in_network(const struct term *term, struct text value)
{
	struct address address, masked;

	if (term->network_count == 0 || !address_read(value, &address))
		return false;
	for (size_t i = 0; i < term->network_count; i++) {
		const struct address *network = &term->networks[i];

		masked = address;
		address_mask(masked.bytes, network->bits);
		if (network->is_v4 == (address.bits == 32) &&
		    memcmp(masked.bytes, network->bytes, sizeof masked.bytes) == 0)
			return true;
	}
	return false;
}

static bool
term_holds(const struct request *request, const struct term *term)
{
	char room[PART_ROOM];
	struct text value = part_value(request, &term->part, room);

	return is_text_of(term, value) || is_in_network(term, value);
}

bool
conditions_all(const struct request *request, const struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->count; i++)
		if (!term_holds(request, &conditions->terms[i]))
			return false;
	return true;
}

bool
conditions_any(const struct request *request, const struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->count; i++)
		if (term_holds(request, &conditions->terms[i]))
			return true;
	return false;
}
