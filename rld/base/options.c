/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/options.h"

#include <getopt.h>
#include <stdio.h>

static const char usage[] =
	"usage: rld [-nv] [-c FILE] [--bans-file PATH] [--counters-file PATH]\n"
	"           [--metrics-listen ADDRESS] [--status-page] [--metrics-textfile PATH]\n"
	"           [--events-file PATH] [--events-journal[=PATH]] [--state DIRECTORY]\n"
	"\n"
	"Keeps a segment in order: creates it as the configuration says, puts the rules\n"
	"into force, sweeps keys whose window is over, and reports. Stays in the\n"
	"foreground.\n"
	"\n"
	"  -c, --config FILE            the configuration (default: $RL_CONFIG, else\n"
	"                               /etc/rl/rl.json)\n"
	"      --bans-file PATH         keep bans over a reboot in this file\n"
	"      --counters-file PATH     keep what keys have used over a reboot in this\n"
	"                               file\n"
	"  -n, --check                  check the configuration, and do nothing else\n"
	"      --metrics-listen ADDRESS serve metrics over HTTP: unix:PATH,\n"
	"                               127.0.0.1:PORT or [::1]:PORT\n"
	"      --metrics-host NAME      answer metrics to who asks for them by this name,\n"
	"                               too\n"
	"      --status-page            serve a page for browsers at the same address\n"
	"      --metrics-textfile PATH  write metrics to a file now and again\n"
	"      --events-file PATH       append events to a file, as lines\n"
	"      --events-journal[=PATH]  hand events to the journal, as fields\n"
	"      --state DIRECTORY        where it keeps what a cluster has it remember\n"
	"  -v, --verbose                log each pass of the sweep\n"
	"  -h, --help                   this text\n"
	"      --version                print the version\n"
	"\n"
	"SIGHUP reads the configuration again; SIGTERM and SIGINT end rld, the segment\n"
	"stays. Exit status: 0 done, 1 refused (the configuration or segment is to be\n"
	"mended), 2 trouble.\n";

enum long_only {
	LISTEN = 256,
	HOST,
	PAGE,
	TEXTFILE,
	EVENTS_FILE,
	JOURNAL,
	BANS,
	STATE,
	COUNTERS,
	VERSION
};

static const struct option longs[] = {
	{"config", required_argument, NULL, 'c'},
	{"check", no_argument, NULL, 'n'},
	{"metrics-listen", required_argument, NULL, LISTEN},
	{"metrics-host", required_argument, NULL, HOST},
	{"status-page", no_argument, NULL, PAGE},
	{"metrics-textfile", required_argument, NULL, TEXTFILE},
	{"events-file", required_argument, NULL, EVENTS_FILE},
	{"events-journal", optional_argument, NULL, JOURNAL},
	{"bans-file", required_argument, NULL, BANS},
	{"state", required_argument, NULL, STATE},
	{"counters-file", required_argument, NULL, COUNTERS},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, VERSION},
	{0},
};

static int
take_host(struct options *options, const char *name)
{
	if (*name == '\0' || *name == ':')
		fputs("rld: --metrics-host: takes a name, as a Host header has it\n", stderr);
	else if (options->metrics_host_count == METRICS_HOSTS_MAX)
		fprintf(stderr, "rld: --metrics-host %s: there may be %d names\n", name,
		        METRICS_HOSTS_MAX);
	else {
		options->metrics_hosts[options->metrics_host_count++] = name;
		return -1;
	}
	return EXIT_TROUBLE;
}

/* The exit status, if this option is one that ends the program; else -1. */
static int
take(struct options *options, int option)
{
	switch (option) {
	case 'c':
		options->config = optarg;
		return -1;
	case 'n':
		options->is_check = true;
		return -1;
	case LISTEN:
		options->listen = optarg;
		return -1;
	case HOST:
		return take_host(options, optarg);
	case PAGE:
		options->is_page = true;
		return -1;
	case TEXTFILE:
		options->textfile = optarg;
		return -1;
	case EVENTS_FILE:
		options->events_file = optarg;
		return -1;
	case JOURNAL:
		options->events_journal = optarg ? optarg : EVENTS_JOURNAL;
		return -1;
	case BANS:
		options->bans = optarg;
		return -1;
	case STATE:
		options->state = optarg;
		return -1;
	case COUNTERS:
		options->counters = optarg;
		return -1;
	case 'v':
		options->is_verbose = true;
		return -1;
	case 'h':
		return fputs(usage, stdout) < 0 || fflush(stdout) ? EXIT_TROUBLE : EXIT_DONE;
	case VERSION:
		return puts("rld " RL_VERSION) < 0 || fflush(stdout) ? EXIT_TROUBLE : EXIT_DONE;
	default: /* getopt_long() has told it */
		fputs("rld: see 'rld --help'\n", stderr);
		return EXIT_TROUBLE;
	}
}

/* False after a message if the options do not go together. */
static bool
fit_together(const struct options *options, int argc, char **argv)
{
	if (optind < argc)
		fprintf(stderr, "rld: unexpected operand '%s'; see 'rld --help'\n", argv[optind]);
	else if (options->is_page && !options->listen)
		fputs("rld: --status-page needs --metrics-listen, which says where\n", stderr);
	else if (options->metrics_host_count > 0 && !options->listen)
		fputs("rld: --metrics-host needs --metrics-listen, which says where\n", stderr);
	else
		return true;
	return false;
}

bool
options_parse(struct options *options, int argc, char **argv, int *status)
{
	int option;

	*options = (struct options){0};
	while ((option = getopt_long(argc, argv, "c:nvh", longs, NULL)) != -1) {
		*status = take(options, option);
		if (*status >= 0)
			return false;
	}
	*status = EXIT_TROUBLE;
	return fit_together(options, argc, argv);
}
