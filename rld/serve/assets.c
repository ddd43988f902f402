/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/assets.h"

#include <string.h>

/* The assembler reads the file; make runs in the directory that the path begins in. */
#define INCLUDE(name, file)                                                    \
	__asm__(".pushsection .rodata\n"                                       \
	        ".global asset_" #name "_start, asset_" #name "_end\n"         \
	        ".hidden asset_" #name "_start\n.hidden asset_" #name "_end\n" \
	        "asset_" #name "_start: .incbin \"rld/serve/page/" file "\"\n" \
	        "asset_" #name "_end:\n"                                       \
	        ".popsection\n");                                              \
	extern const char asset_##name##_start[], asset_##name##_end[]

INCLUDE(html, "status.html");
INCLUDE(css, "status.css");
INCLUDE(js, "status.js");

static const struct asset assets[] = {
	{"/", "text/html; charset=utf-8", asset_html_start, asset_html_end},
	{"/status.css", "text/css; charset=utf-8", asset_css_start, asset_css_end},
	{"/status.js", "text/javascript; charset=utf-8", asset_js_start, asset_js_end},
};

const struct asset *
asset_find(const char *path)
{
	for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++)
		if (strcmp(path, assets[i].path) == 0)
			return &assets[i];
	return NULL;
}
