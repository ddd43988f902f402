/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SVG_H
#define BENCH_SVG_H

/* Shapes of an SVG picture that reads well on a light page and on a dark one. */

#include <stdio.h>

enum svg_class {
	SVG_INK,   /* text, axes */
	SVG_FAINT, /* text beside it, grid */
	SVG_OURS,
	SVG_THEIRS,
	SVG_FLOOR,
	SVG_CLASSES
};

enum svg_anchor {
	SVG_START,
	SVG_MIDDLE,
	SVG_END
};

void svg_open(FILE *out, int width, int height);
void svg_close(FILE *out);

/* `text` is escaped. */
void svg_text(FILE *out, double x, double y, enum svg_anchor anchor, enum svg_class class,
              const char *text);
void svg_title(FILE *out, double x, double y, const char *text);
void svg_bar(FILE *out, double x, double y, double width, double height, enum svg_class class);
void svg_line(FILE *out, double x1, double y1, double x2, double y2, enum svg_class class);

/* A line with a dot at each of its points. */
void svg_curve(FILE *out, const double (*points)[2], size_t count, enum svg_class class);

#endif
