/* SPDX-License-Identifier: BSD-2-Clause */

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "text/calendar.h"

#define MONTH                                                                                   \
	"a month has no fixed length, so it is no window; use 30d (400d is the longest), or a " \
	"counter by key whose lifetime the program sets to end with the month: rl_counter(3)"
#define YEAR                                                                                    \
	"a year has no fixed length, so it is no window; use 365d (400d is the longest), or a " \
	"counter by key whose lifetime the program sets to end with the year: rl_counter(3)"
#define LOCAL_DAY                                                                                 \
	"a local day has no fixed length where clocks change, so it is no window; use 1d, which " \
	"is counted in UTC, or a counter by key whose lifetime the program sets to end at local " \
	"midnight: rl_counter(3)"
#define WEEK "a week is written 7d"

/* Of several in one text the first here tells: a calendar month is a month. */
static const struct {
	const char *word, *why;
} words[] = {{"mo", MONTH},
             {"mon", MONTH},
             {"month", MONTH},
             {"months", MONTH},
             {"monthly", MONTH},
             {"y", YEAR},
             {"yr", YEAR},
             {"year", YEAR},
             {"years", YEAR},
             {"yearly", YEAR},
             {"w", WEEK},
             {"week", WEEK},
             {"weeks", WEEK},
             {"weekly", WEEK},
             {"calendar", LOCAL_DAY},
             {"local", LOCAL_DAY},
             {"midnight", LOCAL_DAY},
             {"daily", LOCAL_DAY}};

static size_t
word_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* Does the word stand in the text, between what are no letters? */
static int
has_word(const char *text, const char *word)
{
	size_t len;

	for (; *text; text += len > 0 ? len : 1) {
		len = word_length(text);
		if (len == strlen(word) && strncasecmp(text, word, len) == 0)
			return 1;
	}
	return 0;
}

const char *
calendar_refuse(const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_word(text, words[i].word))
			return words[i].why;
	return NULL;
}
