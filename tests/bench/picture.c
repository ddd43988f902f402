/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three panels of a report:
 *
 *	+--------------------------------------------------+
 *	| beside what people use: bars, logarithmic        |
 *	+------------------------+-------------------------+
 *	| a hot key, the floor   | keys in the table       |
 *	+------------------------+-------------------------+
 */
#include <math.h>
#include <string.h>

#include "report.h"
#include "svg.h"

#define WIDTH 860
#define HEIGHT 560
#define ROW 28
#define BAR 16
#define LINE 15         /* of text */
#define PEERS_LABEL 250 /* where the bars begin */
#define PEERS_WORKLOAD "spread_2_"
#define LOWER 285 /* top of the lower panels */
#define RIGHT 450 /* left edge of the right one */

struct picture {
	const json_t *report;
	FILE *out;
	int error;
};

static const json_t *
find_in(const json_t *array, const char *id)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "id"));
		if (name && strcmp(name, id) == 0)
			return item;
	}
	return NULL;
}

static const json_t *
rows_of(struct picture *p, const char *section)
{
	const json_t *s = find_in(json_object_get(p->report, "sections"), section);

	if (!s && !p->error) {
		fprintf(stderr, "bench: the report has no section '%s'\n", section);
		p->error = -1;
	}
	return json_object_get(s, "rows");
}

static double
value_of(const json_t *row)
{
	return json_number_value(json_object_get(row, "value"));
}

/* A row that the picture cannot do without. */
static double
value_in(struct picture *p, const char *section, const char *id)
{
	const json_t *row = find_in(rows_of(p, section), id);

	if (value_of(row) > 0)
		return value_of(row);
	if (!p->error)
		fprintf(stderr, "bench: section '%s' has no row '%s' above 0\n", section, id);
	p->error = -1;
	return 1;
}

static void
draw_ns(const struct picture *p, double x, double y, double ns)
{
	char text[32];

	if (ns < 1000)
		snprintf(text, sizeof text, "%.0f ns", ns);
	else
		snprintf(text, sizeof text, "%.1f \xc2\xb5s", ns / 1000);
	svg_text(p->out, x, y, SVG_START, SVG_INK, text);
}

/* From 10 ns to 100 us. */
static double
log_width(double ns)
{
	double decades = log10(ns < 10 ? 10 : ns) - 1;

	return decades / 4 * (WIDTH - PEERS_LABEL - 90);
}

static void
draw_peer(const struct picture *p, double y, const json_t *row)
{
	const char *label = json_string_value(json_object_get(row, "label"));
	const char *peer = label ? strstr(label, ": ") : NULL;
	bool is_ours = peer && strcmp(peer, ": rl") == 0;
	double width = log_width(value_of(row));

	svg_text(p->out, PEERS_LABEL - 10, y + BAR - 4, SVG_END, SVG_INK, peer ? peer + 2 : "?");
	svg_bar(p->out, PEERS_LABEL, y, width, BAR, is_ours ? SVG_OURS : SVG_THEIRS);
	draw_ns(p, PEERS_LABEL + width + 8, y + BAR - 4, value_of(row));
}

static void
draw_peers(struct picture *p)
{
	const json_t *rows = rows_of(p, "peers");
	double y = 44;
	size_t i;
	json_t *row;

	svg_title(p->out, 10, 22,
	          "A decision, 2 processes, 100,000 keys (wall time, logarithmic scale)");
	json_array_foreach(rows, i, row)
	{
		const char *id = json_string_value(json_object_get(row, "id"));
		if (!id || strncmp(id, PEERS_WORKLOAD, strlen(PEERS_WORKLOAD)) != 0)
			continue;
		draw_peer(p, y, row);
		y += ROW;
	}
}

struct bar {
	const char *label;
	const char *ids[3]; /* stacked */
	enum svg_class class;
};

static void
draw_stack(struct picture *p, double y, const struct bar *bar, double scale)
{
	double x = 150, sum = 0;

	svg_text(p->out, x - 10, y + BAR - 4, SVG_END, SVG_INK, bar->label);
	for (int i = 0; i < 3 && bar->ids[i]; i++) {
		double ns = value_in(p, "hit", bar->ids[i]);
		svg_bar(p->out, x, y, ns * scale - 1, BAR, bar->class);
		x += ns * scale;
		sum += ns;
	}
	draw_ns(p, x + 6, y + BAR - 4, sum);
}

static void
draw_hits(struct picture *p)
{
	static const struct bar bars[] = {
		{"clock, hash, CAS16", {"clock", "hash", "cas16"}, SVG_FLOOR},
		{"admitted", {"admit_clock"}, SVG_OURS},
		{"hash, CAS16", {"hash", "cas16"}, SVG_FLOOR},
		{"admitted, own clock", {"admit_now"}, SVG_OURS},
		{"denied, own clock", {"deny_hard"}, SVG_OURS},
	};
	double most = 1, y = LOWER + 24;

	for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++)
		most = fmax(most, value_in(p, "hit", bars[i].ids[0]));
	svg_title(p->out, 10, LOWER, "A hot key, beside the floor of the hardware");
	for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++, y += ROW)
		draw_stack(p, y, &bars[i], 210 / most);
}

struct curve {
	const char *label, *id;
	enum svg_class class;
};

#define CURVES 3
#define SIZES 4
static const struct curve curves[CURVES] = {
	{"one at a time", "one", SVG_OURS},
	{"in batches of 32", "batch", SVG_THEIRS},
	{"CAS16 alone", "floor", SVG_FLOOR},
};
static const char *const sizes[SIZES] = {"1k", "100k", "1M", "10M"};
static const double decades[SIZES] = {0, 2, 3, 4};

#define PLOT_TOP (LOWER + 24)
#define PLOT_HEIGHT 190
#define PLOT_LEFT (RIGHT + 40)
#define PLOT_WIDTH 240

static double
nice_above(double value)
{
	double step = pow(10, floor(log10(value)));

	return ceil(value / step) * step;
}

static void
draw_axes(const struct picture *p, double most)
{
	char text[32];

	for (int i = 0; i <= 4; i++) {
		double y = PLOT_TOP + PLOT_HEIGHT * (1 - i / 4.0);
		snprintf(text, sizeof text, "%.0f", most * i / 4);
		svg_line(p->out, PLOT_LEFT, y, PLOT_LEFT + PLOT_WIDTH, y, SVG_FAINT);
		svg_text(p->out, PLOT_LEFT - 6, y + 4, SVG_END, SVG_FAINT, text);
	}
	for (int i = 0; i < SIZES; i++)
		svg_text(p->out, PLOT_LEFT + decades[i] / 4 * PLOT_WIDTH,
		         PLOT_TOP + PLOT_HEIGHT + 18, SVG_MIDDLE, SVG_FAINT, sizes[i]);
}

static void
draw_growth(struct picture *p)
{
	double ns[CURVES][SIZES], points[SIZES][2], most = 1, label_y = 0;
	char id[32];

	for (int c = 0; c < CURVES; c++)
		for (int i = 0; i < SIZES; i++) {
			snprintf(id, sizeof id, "%s_%s", curves[c].id, sizes[i]);
			ns[c][i] = value_in(p, "growth", id);
			most = fmax(most, ns[c][i]);
		}
	most = nice_above(most);
	svg_title(p->out, RIGHT, LOWER, "ns a decision, by keys in the table");
	draw_axes(p, most);
	for (int c = 0; c < CURVES; c++) {
		for (int i = 0; i < SIZES; i++) {
			points[i][0] = PLOT_LEFT + decades[i] / 4 * PLOT_WIDTH;
			points[i][1] = PLOT_TOP + PLOT_HEIGHT * (1 - ns[c][i] / most);
		}
		svg_curve(p->out, (const double(*)[2])points, SIZES, curves[c].class);
		label_y = fmax(label_y + LINE, points[SIZES - 1][1] + 4); /* never over another */
		svg_text(p->out, points[SIZES - 1][0] + 10, label_y, SVG_START, SVG_INK,
		         curves[c].label);
	}
}

static void
draw_machine(const struct picture *p)
{
	const json_t *m = json_object_get(p->report, "machine");
	const char *cpu = json_string_value(json_object_get(m, "cpu"));
	char text[256];

	snprintf(text, sizeof text, "%.150s, %.0f CPUs; medians of %.0f rounds that take turns",
	         cpu ? cpu : "?", json_number_value(json_object_get(m, "cpus")),
	         json_number_value(json_object_get(p->report, "rounds")));
	svg_text(p->out, 10, HEIGHT - 12, SVG_START, SVG_FAINT, text);
}

int
picture_draw(const json_t *report, FILE *out)
{
	struct picture p = {.report = report, .out = out};

	svg_open(out, WIDTH, HEIGHT);
	draw_peers(&p);
	draw_hits(&p);
	draw_growth(&p);
	draw_machine(&p);
	svg_close(out);
	return p.error;
}
