/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

static void
set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		bench_die("no memory for the report");
}

static void
append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		bench_die("no memory for the report");
}

/* The first line of a file that begins with `start`, from there on. */
static void
read_line(const char *path, const char *start, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	char line[512] = "";
	size_t skip = strlen(start);

	snprintf(text, size, "unknown");
	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, start, skip) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, size, "%s", line + skip);
		break;
	}
	if (file)
		fclose(file);
}

static json_t *
machine(const struct bench *bench)
{
	json_t *m = json_object();
	struct utsname kernel;
	char cpu[512];

	uname(&kernel);
	read_line("/proc/cpuinfo", "model name\t: ", cpu, sizeof cpu);
	set(m, "cpu", json_string(cpu));
	set(m, "cpus", json_integer(bench->cpus));
	set(m, "kernel", json_string(kernel.release));
	set(m, "compiler", json_string("gcc-compatible " __VERSION__));
	return m;
}

json_t *
report_create(const struct bench *bench)
{
	json_t *r = json_object();

	set(r, "machine", machine(bench));
	set(r, "rounds", json_integer(bench->rounds));
	set(r, "is_quick", json_boolean(bench->is_quick));
	set(r, "sections", json_array());
	return r;
}

json_t *
report_section(json_t *report, const char *id, const char *title)
{
	json_t *s = json_object();

	set(s, "id", json_string(id));
	set(s, "title", json_string(title));
	set(s, "rows", json_array());
	set(s, "notes", json_array());
	append(json_object_get(report, "sections"), s);
	fprintf(stderr, "bench: %s\n", title); /* minutes pass */
	return s;
}

static bool
is_within(const struct row *row, double value)
{
	return row->is_at_least ? value >= row->target : value <= row->target;
}

static void
set_target(json_t *r, const struct row *row)
{
	double best = row->to ? row->ratio : row->value, worst = best;

	if (row->medians.high > 0)
		worst = row->is_at_least ? row->medians.low : row->medians.high;
	set(r, "target", json_real(row->target));
	set(r, "is_at_least", json_boolean(row->is_at_least));
	set(r, "is_met", json_boolean(is_within(row, worst)));
	set(r, "is_met_at_best", json_boolean(is_within(row, best)));
}

void
report_row(json_t *section, const struct row *row)
{
	json_t *r = json_object();

	if (row->group) {
		set(r, "id", json_sprintf("%s_%s", row->group, row->id));
		set(r, "label", json_sprintf("%s: %s", row->group_label, row->label));
	} else {
		set(r, "id", json_string(row->id));
		set(r, "label", json_string(row->label));
	}
	set(r, "value", json_real(row->value));
	set(r, "unit", json_string(row->unit));
	if (row->to) {
		set(r, "ratio", json_real(row->ratio));
		set(r, "to", json_string(row->to));
	}
	if (row->medians.high > 0) {
		set(r, "low", json_real(row->medians.low));
		set(r, "high", json_real(row->medians.high));
	}
	if (row->target > 0)
		set_target(r, row);
	if (row->disturbed > 0)
		set(r, "disturbed", json_integer(row->disturbed));
	append(json_object_get(section, "rows"), r);
}

struct row
report_row_of(const struct lane *lane, const struct samples *s, const struct samples *to,
              const char *to_label)
{
	double (*which)(const struct samples *s) =
		lane->workers > 0 ? samples_median : samples_least;
	struct row row = {.id = lane->id,
	                  .label = lane->label,
	                  .value = which(s),
	                  .unit = "ns",
	                  .medians = samples_medians(s),
	                  .to = to_label,
	                  .disturbed = samples_disturbed(s)};

	if (to_label) {
		struct samples ratio = samples_ratio(s, to);
		row.medians = samples_medians(&ratio);
		row.ratio = lane->workers > 0 ? samples_median(&ratio) : row.value / which(to);
	}
	return row;
}

void
report_lane(json_t *section, const struct lane *lane, const struct samples *s,
            const struct samples *to, const char *to_label, double target)
{
	struct row row = report_row_of(lane, s, to, to_label);

	row.target = target;
	report_row(section, &row);
}

void
report_note(json_t *section, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	append(json_object_get(section, "notes"), json_string(text));
}

void
report_histogram(json_t *section, const struct histogram *h, const char *id, const char *label)
{
	static const struct {
		const char *id, *label;
		double share;
	} points[] = {{"p50", "p50", 0.5},
	              {"p99", "p99", 0.99},
	              {"p999", "p99.9", 0.999},
	              {"p9999", "p99.99", 0.9999},
	              {"max", "max", 1}};

	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		report_row(section, &(struct row){.group = id,
		                                  .group_label = label,
		                                  .id = points[i].id,
		                                  .label = points[i].label,
		                                  .value = (double)histogram_at(h, points[i].share),
		                                  .unit = "ns"});
}
