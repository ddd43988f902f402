/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "policyd.h"

#define CONFIG "/etc/rl/policyd.json"
#define HOURS_MAX 9999

static const char usage[] =
	"usage: rl-policyd [--config FILE] [--check | --stdin | --report [--since HOURS]]\n"
	"\n"
	"Answers Postfix's check_policy_service by the rules of an rl segment.\n"
	"\n"
	"  -c, --config FILE  the settings (default: " CONFIG ")\n"
	"      --check        say whether the settings are good, and end\n"
	"      --stdin        serve the connection at standard input, as spawn(8) gives it\n"
	"      --report       tell who was limited, by the events that rld has written\n"
	"      --since HOURS  of the report: how many hours it goes back (default: 24)\n"
	"  -h, --help         explain, and do nothing else\n"
	"  -V, --version      print the version, and do nothing else\n";

struct options {
	const char *config;
	bool is_check, is_stdin, is_report;
	uint64_t hours;
};

static bool
read_hours(const char *text, uint64_t *hours)
{
	char *end;

	*hours = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end && *hours >= 1 && *hours <= HOURS_MAX)
		return true;
	fprintf(stderr, "rl-policyd: --since %s: a number of hours, 1 to %d, is expected\n", text,
	        HOURS_MAX);
	return false;
}

/* -1: go on; else the status to end with. */
static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
		{"stdin", no_argument, NULL, 'i'},        {"report", no_argument, NULL, 'r'},
		{"since", required_argument, NULL, 's'},  {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "c:hV", known, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'k':
			o->is_check = true;
			break;
		case 'i':
			o->is_stdin = true;
			break;
		case 'r':
			o->is_report = true;
			break;
		case 's':
			if (!read_hours(optarg, &o->hours))
				return 2;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("rl-policyd " RL_VERSION);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	if (optind == argc)
		return -1;
	fprintf(stderr, "rl-policyd: unexpected operand '%s'\n", argv[optind]);
	return 2;
}

static int
open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A bad file never takes the place of a good one. Sockets stay as they are. */
static void
reload(const char *path, struct settings *settings, struct segment *segment)
{
	char text[256];

	if (!settings_read(path, settings, text, sizeof text))
		say(SAY_ALWAYS, "%s: %s; the settings stay as they were", path, text);
	else
		say(SAY_ALWAYS, "%s: read again", path);
	policy_begin();
	segment->look_ms = 0;
}

static int
serve(const struct options *o, struct settings *settings, struct segment *segment)
{
	struct settings started = *settings; /* whose sockets are open */
	struct server server = {.settings = settings, .segment = segment, .listeners = {-1}};
	int signal;

	if (o->is_stdin && sd_is_socket(0, AF_UNSPEC, SOCK_STREAM, 0) <= 0) {
		say(SAY_ALWAYS, "standard input is no connection");
		return 1;
	}
	server.signals = open_signals();
	if (!o->is_stdin && !listen_open(settings, server.listeners))
		return 1;
	segment_get(segment, settings);
	sd_notify(0, "READY=1");
	for (int first = o->is_stdin ? 0 : -1;; first = -1) {
		signal = clients_serve(&server, first);
		if (signal != SIGHUP)
			break;
		reload(o->config, settings, segment);
	}
	sd_notify(0, "STOPPING=1");
	listen_close(&started, server.listeners);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct settings settings;
	static struct segment segment;
	struct options o = {.config = CONFIG, .hours = 24};
	char text[256];
	int status = read_options(argc, argv, &o);

	if (status >= 0)
		return status;
	if (!settings_read(o.config, &settings, text, sizeof text)) {
		say(SAY_ALWAYS, "%s: %s", o.config, text);
		return 1;
	}
	if (o.is_check)
		return 0;
	if (o.is_report)
		return report_run(&settings, (uint64_t)time(NULL), 3600 * o.hours);
	status = serve(&o, &settings, &segment);
	segment_close(&segment);
	return status;
}
