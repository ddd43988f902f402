/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_ERROR_TEXT_H
#define CONFIG_ERROR_TEXT_H

/* An error of the library, and its remedy, in one line of a message. */

struct error_text {
	char text[256];
};

/* "no room for another rule: make the segment with more `rules`". */
struct error_text error_text(int error);

#endif
