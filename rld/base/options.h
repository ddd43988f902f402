/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_OPTIONS_H
#define RLD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How rld ends. A service manager need not try again after EXIT_REFUSED: the configuration or
 * the segment is to be mended first.
 */
enum {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,
	EXIT_TROUBLE = 2
};

#define METRICS_HOSTS_MAX 16
#define EVENTS_JOURNAL "/run/systemd/journal/socket" /* if none is named */

/* The options of the command line; the texts are its own. */
struct options {
	const char *config; /* as config_path() takes it */
	const char *listen; /* or NULL */
	const char *metrics_hosts
		[METRICS_HOSTS_MAX]; /* names that metrics are asked for by, beside this host's
		                        own */
	size_t metrics_host_count;
	const char *textfile;       /* or NULL */
	const char *events_file;    /* or NULL */
	const char *events_journal; /* the journal's socket, or NULL */
	const char *bans;           /* or NULL */
	const char *state;          /* or NULL */
	const char *counters;       /* or NULL */
	bool is_page;               /* with `listen`: serve the status page, too */
	bool is_check;
	bool is_verbose;
};

/* False when there is nothing to run: `*status` is how to exit then. */
bool options_parse(struct options *options, int argc, char **argv, int *status);

#endif
