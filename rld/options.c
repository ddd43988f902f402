/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <getopt.h>
#include <stdio.h>

static const char usage[] =
	"usage: rld [-nv] [-c FILE] [--metrics-listen ADDRESS] [--metrics-textfile PATH]\n"
	"\n"
	"Keeps a segment in order: creates it as the configuration says, puts the rules into\n"
	"force, sweeps keys whose window is over, and reports. Stays in the foreground.\n"
	"\n"
	"  -c, --config FILE            the configuration (default: $RL_CONFIG, else\n"
	"                               /etc/rl/rl.json)\n"
	"  -n, --check                  check the configuration, and do nothing else\n"
	"      --metrics-listen ADDRESS serve metrics over HTTP: unix:PATH, 127.0.0.1:PORT or\n"
	"                               [::1]:PORT\n"
	"      --metrics-textfile PATH  write metrics to a file now and again\n"
	"  -v, --verbose                log each pass of the sweep\n"
	"  -h, --help                   this text\n"
	"      --version                print the version\n"
	"\n"
	"SIGHUP reads the configuration again; SIGTERM and SIGINT end rld, the segment stays.\n"
	"Exit status: 0 done, 1 refused (the configuration or segment is to be mended), 2 "
	"trouble.\n";

enum long_only {
	LISTEN = 256,
	TEXTFILE,
	VERSION
};

static const struct option longs[] = {
	{"config", required_argument, NULL, 'c'},
	{"check", no_argument, NULL, 'n'},
	{"metrics-listen", required_argument, NULL, LISTEN},
	{"metrics-textfile", required_argument, NULL, TEXTFILE},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, VERSION},
	{0},
};

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
	case TEXTFILE:
		options->textfile = optarg;
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
	if (optind == argc)
		return true;
	fprintf(stderr, "rld: unexpected operand '%s'; see 'rld --help'\n", argv[optind]);
	*status = EXIT_TROUBLE;
	return false;
}
