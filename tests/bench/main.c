/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a decision costs, beside what the hardware asks for the same work, and beside what else
 * people use. See bench.h for how it is measured.
 */
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hot.h"
#include "report.h"

volatile uint64_t bench_zero;
volatile uint64_t bench_sink;

static const struct {
	const char *name;
	void (*run)(struct bench *bench);
} sections[] = {
	{"costs", bench_costs},       {"lines", bench_lines},   {"growth", bench_growth},
	{"fill", bench_fill},         {"scale", bench_scale},   {"latency", bench_latency},
	{"scan", bench_scan},         {"tables", bench_tables}, {"peers", bench_peers},
	{"accuracy", bench_accuracy}, {"memory", bench_memory}, {"tools", bench_tools},
	{"move", bench_move},         {"replay", bench_replay},
};
#define SECTIONS (sizeof sections / sizeof sections[0])

static const char usage[] =
	"usage: bench [--quick] [--json] [--save FILE] [SECTION...]\n"
	"       bench --profile LANE\n"
	"       bench --lanes\n"
	"\n"
	"  --quick      a slice of every section, for seconds: that it runs, not its numbers\n"
	"  --json       print JSON, not tables\n"
	"  --save FILE  write the JSON to FILE, too\n"
	"  --profile LANE  only run a lane of hot.def, for a profiler to look at\n"
	"  --lanes      print their names\n";

struct arguments {
	bool is_quick, is_json, is_list;
	const char *save, *profile;
	char **wanted;
};

void
bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static bool
is_section(const char *name)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (strcmp(name, sections[i].name) == 0)
			return true;
	return false;
}

static void
parse(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{"quick", no_argument, NULL, 'q'},
		{"json", no_argument, NULL, 'j'},
		{"save", required_argument, NULL, 's'},
		{"profile", required_argument, NULL, 'p'},
		{"lanes", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'q':
			a->is_quick = true;
			break;
		case 'j':
			a->is_json = true;
			break;
		case 's':
			a->save = optarg;
			break;
		case 'p':
			a->profile = optarg;
			break;
		case 'l':
			a->is_list = true;
			break;
		default:
			fputs(usage, option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	a->wanted = argv + optind;
	for (char **name = a->wanted; *name; name++)
		if (!is_section(*name))
			bench_die("there is no section '%s'", *name);
}

static bool
is_wanted(char **wanted, const char *name)
{
	for (char **w = wanted; *w; w++)
		if (strcmp(*w, name) == 0)
			return true;
	return !*wanted;
}

static unsigned
cpus_here(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : (unsigned)cpus;
}

static void
save(const json_t *report, const char *path)
{
	if (json_dump_file(report, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0)
		bench_die("%s: cannot write the report", path);
}

#define PROFILED 1000 /* decisions, as profile.sh knows */

/* Its own function, for a profiler to count from there on. */
__attribute__((noinline)) static void
profile_this(const struct lane *lane)
{
	lane->run(lane->arg, 0, PROFILED);
}

static int
profile(const char *id)
{
	struct hot *hot = hot_open_one(id);
	struct lane lane = hot_lane_of(hot, PROFILED);

	lane.run(lane.arg, 0, PROFILED);
	profile_this(&lane);
	hot_close(hot, 1);
	return 0;
}

static int
list_lanes(void)
{
	for (size_t i = 0; i < hot_count; i++)
		puts(hot_lanes[i].id);
	return 0;
}

int
main(int argc, char **argv)
{
	struct arguments a = {0};
	struct bench bench = {.cpus = cpus_here()};

	parse(argc, argv, &a);
	if (a.profile)
		return profile(a.profile);
	if (a.is_list)
		return list_lanes();
	bench.is_quick = a.is_quick;
	bench.rounds = a.is_quick ? 1 : BENCH_ROUNDS;
	bench.report = report_create(&bench);
	bench_pin(&bench, 0);
	for (size_t i = 0; i < SECTIONS; i++)
		if (is_wanted(a.wanted, sections[i].name))
			sections[i].run(&bench);
	if (a.save)
		save(bench.report, a.save);
	if (a.is_json)
		json_dumpf(bench.report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	else
		table_print(bench.report, stdout);
	json_decref(bench.report);
	return 0;
}
