/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_ASSETS_H
#define RLD_ASSETS_H

/* The files of the status page, as rld/serve/page/ has them. They are part of the program. */

#include <stddef.h>

struct asset {
	const char *path, *type;
	const char *start, *end;
};

/* The asset that is served under this path, or NULL. */
const struct asset *asset_find(const char *path);

#endif
