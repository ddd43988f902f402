/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "report.h"

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double
number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void
print_value(const json_t *row, FILE *out)
{
	double value = number_of(row, "value");

	fprintf(out, "  %-64s %12.*f %-9s", text_of(row, "label"),
	        fabs(value) < 10000 && value != floor(value) ? 1 : 0, value, text_of(row, "unit"));
}

static void
print_target(const json_t *row, FILE *out)
{
	const char *how = "missed";

	if (json_is_true(json_object_get(row, "is_met")))
		how = "met";
	else if (json_is_true(json_object_get(row, "is_met_at_best")))
		how = "met at best";
	fprintf(out, "; target %s %.2f: %s",
	        json_is_true(json_object_get(row, "is_at_least")) ? ">=" : "<=",
	        number_of(row, "target"), how);
}

static void
print_row(const json_t *row, FILE *out)
{
	print_value(row, out);
	if (json_object_get(row, "ratio"))
		fprintf(out, " %7.2f", number_of(row, "ratio"));
	if (json_object_get(row, "high"))
		fprintf(out, " (%.2f-%.2f)", number_of(row, "low"), number_of(row, "high"));
	if (json_object_get(row, "to"))
		fprintf(out, " x %s", text_of(row, "to"));
	if (json_object_get(row, "target"))
		print_target(row, out);
	if (json_object_get(row, "disturbed"))
		fprintf(out, " (%.0f rounds dropped)", number_of(row, "disturbed"));
	fputc('\n', out);
}

static void
print_section(const json_t *section, FILE *out)
{
	size_t i;
	json_t *item;

	fprintf(out, "\n%s\n", text_of(section, "title"));
	json_array_foreach(json_object_get(section, "rows"), i, item) print_row(item, out);
	json_array_foreach(json_object_get(section, "notes"), i, item)
		fprintf(out, "    %s\n", json_string_value(item));
}

void
table_print(const json_t *report, FILE *out)
{
	const json_t *machine = json_object_get(report, "machine");
	size_t i;
	json_t *section;

	fprintf(out, "%s, %.0f CPUs, Linux %s, %s; the best of %.0f rounds or more (and medians)\n",
	        text_of(machine, "cpu"), number_of(machine, "cpus"), text_of(machine, "kernel"),
	        text_of(machine, "compiler"), number_of(report, "rounds"));
	json_array_foreach(json_object_get(report, "sections"), i, section)
		print_section(section, out);
}
