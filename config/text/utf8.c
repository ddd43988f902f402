/* SPDX-License-Identifier: BSD-2-Clause */

#include "text/utf8.h"

/* How a sequence of each length begins, and the least character that needs it: anything
 * less is an overlong form. */
static const struct {
	unsigned char mask;
	unsigned char lead;
	uint32_t least;
} forms[] = {
	{0x80, 0x00, 0},
	{0xe0, 0xc0, 0x80},
	{0xf0, 0xe0, 0x800},
	{0xf8, 0xf0, 0x10000},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

static bool
is_character(uint32_t character, uint32_t least)
{
	bool is_surrogate = character >= 0xd800 && character <= 0xdfff;

	return character >= least && character <= 0x10ffff && !is_surrogate;
}

size_t
utf8_decode(const unsigned char *bytes, size_t len, uint32_t *character)
{
	size_t form = 0;
	uint32_t value;

	while (form < FORMS && (bytes[0] & forms[form].mask) != forms[form].lead)
		form++;
	if (form == FORMS || len <= form)
		return 0;
	value = bytes[0] & ~(uint32_t)forms[form].mask & 0xff;
	for (size_t i = 1; i <= form; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (bytes[i] & 0x3f);
	}
	*character = value;
	return is_character(value, forms[form].least) ? form + 1 : 0;
}

bool
utf8_is_valid(const unsigned char *bytes, size_t len)
{
	while (len > 0) {
		uint32_t character;
		size_t size = utf8_decode(bytes, len, &character);

		if (size == 0)
			return false;
		bytes += size;
		len -= size;
	}
	return true;
}

bool
utf8_is_printable(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},       /* C0 controls */
		{0x7f, 0x9f},       /* DEL, C1 controls */
		{0xad, 0xad},       /* soft hyphen */
		{0x61c, 0x61c},     /* Arabic letter mark */
		{0x180e, 0x180e},   /* Mongolian vowel separator */
		{0x200b, 0x200f},   /* zero width, directional marks */
		{0x2028, 0x202e},   /* line and paragraph separators, bidi overrides */
		{0x2060, 0x206f},   /* invisible operators, bidi isolates */
		{0xfeff, 0xfeff},   /* byte order mark */
		{0xfff9, 0xfffb},   /* interlinear annotation */
		{0xe0000, 0xe0fff}, /* tags, variation selectors */
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return false;
	return true;
}
