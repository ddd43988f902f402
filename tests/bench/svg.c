/* SPDX-License-Identifier: BSD-2-Clause */
#include "svg.h"

#define ROUND 2.0

static const char *const names[SVG_CLASSES] = {
	[SVG_INK] = "ink",       [SVG_FAINT] = "faint", [SVG_OURS] = "ours",
	[SVG_THEIRS] = "theirs", [SVG_FLOOR] = "floor",
};

static const char style[] = "<style>\n"
			    "text { font: 12px system-ui, sans-serif }\n"
			    ".title { font-size: 14px; font-weight: 600 }\n"
			    ".ink { fill: #1f2328; stroke: #1f2328 }\n"
			    ".faint { fill: #59636e; stroke: #d1d9e0 }\n"
			    ".ours { fill: #0969da; stroke: #0969da }\n"
			    ".theirs { fill: #9aa4af; stroke: #9aa4af }\n"
			    ".floor { fill: #bc6c25; stroke: #bc6c25 }\n"
			    "@media (prefers-color-scheme: dark) {\n"
			    ".ink { fill: #f0f6fc; stroke: #f0f6fc }\n"
			    ".faint { fill: #9198a1; stroke: #3d444d }\n"
			    ".ours { fill: #58a6ff; stroke: #58a6ff }\n"
			    ".theirs { fill: #656c76; stroke: #656c76 }\n"
			    ".floor { fill: #e3a35c; stroke: #e3a35c }\n"
			    "}\n"
			    "text[x], rect[x], circle[r] { stroke: none }\n"
			    "polyline[points] { fill: none; stroke-width: 2 }\n"
			    "</style>\n";

void
svg_open(FILE *out, int width, int height)
{
	fprintf(out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
	        "height=\"%d\">\n%s",
	        width, height, width, height, style);
}

void
svg_close(FILE *out)
{
	fputs("</svg>\n", out);
}

static void
put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else
			fputc(*text, out);
	}
}

void
svg_text(FILE *out, double x, double y, enum svg_anchor anchor, enum svg_class class,
         const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};

	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
	        anchors[anchor], names[class]);
	put_escaped(out, text);
	fputs("</text>\n", out);
}

void
svg_title(FILE *out, double x, double y, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"ink title\">", x, y);
	put_escaped(out, text);
	fputs("</text>\n", out);
}

void
svg_bar(FILE *out, double x, double y, double width, double height, enum svg_class class)
{
	fprintf(out,
	        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.0f\" "
	        "class=\"%s\"/>\n",
	        x, y, width, height, ROUND, names[class]);
}

void
svg_line(FILE *out, double x1, double y1, double x2, double y2, enum svg_class class)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1,
	        y1, x2, y2, names[class]);
}

void
svg_curve(FILE *out, const double (*points)[2], size_t count, enum svg_class class)
{
	fprintf(out, "<polyline class=\"%s\" points=\"", names[class]);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%.1f,%.1f ", points[i][0], points[i][1]);
	fputs("\"/>\n", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"%s\"/>\n",
		        points[i][0], points[i][1], names[class]);
}
