/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rld: keeps a segment in order.
 *
 *	options -> configuration -> segment -> rules in force -> metrics -> ready
 *	loop: sweep a slice, lend what a cluster lends, do the periodic tasks that are due, wait for
 *	      signals and requests
 *	goodbye: the segment and all counters stay
 *
 * One thread, and no state that matters: a SIGKILL anywhere costs nothing but the sweep until
 * the next start.
 */

#include <apply/apply.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon.h"
#include "loop/notify.h"
#include "periodic.h"
#include "sigbus.h"

static struct config *
load(const struct options *options)
{
	return config_load(config_path(options->config), log_config, NULL);
}

static int
check(const struct config *config)
{
	sharing_warn(config);
	log_line(LOG_INFO, "%s is good: segment '%s', %zu rules", config->path, config->name,
	         config->rule_count);
	return EXIT_DONE;
}

/* From before the first system call that takes long, so that none of them is lost or kills. */
static int
block_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN); /* of a client, or of whoever read the log */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	d->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return d->signal_fd;
}

static int
apply(struct daemon *d, const struct config *config)
{
	struct rl_config_outcome outcome;
	int error = config_apply(d->segment.rl, config, 0, &outcome, log_config, NULL);

	if (error == 0)
		d->audit.generation = outcome.generation;
	if (error == 0 && outcome.is_changed)
		log_line(LOG_NOTICE, "%s is in force, generation %llu", config->path,
		         (unsigned long long)outcome.generation);
	return error;
}

/*
 * The rules that a cluster has for all hosts. Of the document only these count: the rest is each
 * host's own.
 */
static bool
take_rules(void *arg, const char *path)
{
	struct daemon *d = arg;
	struct config *config = config_load(path, log_config, NULL);
	bool is_good;

	if (config && !config_says_ring(config) && !config_says_ring(d->config))
		segment_grow_ring(&d->segment, config);
	is_good = config && apply(d, config) == 0;
	if (is_good)
		watch_rules(&d->watch);
	config_free(config);
	return is_good;
}

static int
serve_metrics(struct daemon *d)
{
	struct report report = {d->segment.rl, &d->sweeper, &d->loads, &d->sharing};

	if (!d->options.listen)
		return 0;
	if (listen_open(&d->listener, d->options.listen) < 0)
		return -1;
	probe_open(&d->probe, d->listener.fd);
	d->http = http_start(d->listener.fd, &report, &d->options);
	if (!d->http)
		return -1;
	log_line(LOG_INFO, "metrics at %s%s", d->listener.text,
	         d->options.is_page ? ", and a status page beside them at /" : "");
	return 0;
}

static int
start(struct daemon *d)
{
	int status;

	if (block_signals(d) < 0) {
		log_line(LOG_ERR, "signals: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	sigbus_watch(d);
	if (textfile_open(&d->textfile, d->options.textfile) < 0)
		return EXIT_TROUBLE;
	status = segment_open(&d->segment, d->config);
	if (status != EXIT_DONE)
		return status;
	if (events_open(&d->events, d->segment.rl, d->options.events_journal,
	                d->options.events_file) < 0)
		return EXIT_TROUBLE;
	if (apply(d, d->config) < 0)
		return EXIT_REFUSED;
	if (bans_file_open(&d->bans, d->options.bans, d->segment.rl) < 0)
		return EXIT_REFUSED;
	if (counters_file_open(&d->counters, d->options.counters, d->segment.rl) < 0)
		return EXIT_REFUSED;
	audit_start(&d->audit, d->segment.rl);
	d->loads = (struct loads){.good = 1, .is_last_good = true};
	sweeper_start(&d->sweeper, d->segment.rl, d->config->gc_interval_ns, clock_monotonic_ns());
	mover_start(&d->mover, d->segment.rl, d->config->options.keys, d->config->keys_most);
	watch_start(&d->watch, d->segment.rl, clock_monotonic_ns());
	if (sharing_open(&d->sharing, d->config, &d->segment, d->options.state, take_rules, d,
	                 clock_monotonic_ns()) < 0)
		return EXIT_REFUSED;
	return serve_metrics(d) < 0 ? EXIT_TROUBLE : EXIT_DONE;
}

/* What the rules need may be more than there is room for now. */
static int
grow_and_apply(struct daemon *d, const struct config *config)
{
	segment_grow(&d->segment, config);
	return apply(d, config);
}

/* Put the file as it is now into force; a bad one changes nothing. */
static bool
take_config(struct daemon *d)
{
	struct config *config = load(&d->options);

	if (!config)
		return false;
	if (strcmp(config->name, d->config->name) != 0)
		log_line(LOG_ERR, "%s: the segment is '%s' now, and was '%s': that takes a restart",
		         config->path, config->name, d->config->name);
	else if (sharing_has_rules(&d->sharing) || grow_and_apply(d, config) == 0) {
		config_free(d->config);
		d->config = config;
		watch_rules(&d->watch);
		sharing_compare(&d->sharing, config);
		sweeper_set_interval(&d->sweeper, config->gc_interval_ns, clock_monotonic_ns());
		mover_set_bounds(&d->mover, config->options.keys, config->keys_most);
		return true;
	}
	config_free(config);
	return false;
}

static void
reload(struct daemon *d)
{
	notify_reloading();
	events_reopen(&d->events);
	d->loads.is_last_good = take_config(d);
	if (d->loads.is_last_good) {
		d->loads.good++;
		log_line(LOG_INFO, "configuration read");
	} else {
		d->loads.bad++;
		log_line(LOG_WARNING, "configuration refused; the one before stays in force");
	}
	periodic_write_textfile(d);
	notify_ready();
}

static void
take_signals(struct daemon *d)
{
	struct signalfd_siginfo info;

	while (read(d->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGHUP)
			reload(d);
		else
			d->status = EXIT_DONE;
	}
}

static struct timespec
until(uint64_t due_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;

	return (struct timespec){
		.tv_sec = (time_t)(wait_ns / RL_SECOND),
		.tv_nsec = (long)(wait_ns % RL_SECOND),
	};
}

/* Wait until then, or until something comes. */
static void
wait_for_events(struct daemon *d, uint64_t due_ns)
{
	struct pollfd fds[3 + HTTP_FDS] = {
		{.fd = d->signal_fd, .events = POLLIN},
		{.fd = probe_fd(&d->probe), .events = probe_events(&d->probe)},
		{.fd = sharing_fd(&d->sharing), .events = POLLIN},
	};
	struct timespec wait = until(due_ns);

	http_watch(d->http, clock_monotonic_ns(), fds + 3);
	if (ppoll(fds, 3 + HTTP_FDS, &wait, NULL) > 0 && fds[0].revents)
		take_signals(d);
}

/* The watchdog is fed when rld has answered itself. Returns when to come again. */
static uint64_t
serve(struct daemon *d, uint64_t now_ns)
{
	uint64_t due_ns = http_run(d->http, now_ns);

	if (probe_run(&d->probe, now_ns))
		notify_watchdog();
	return due_ns < probe_due_ns(&d->probe) ? due_ns : probe_due_ns(&d->probe);
}

static uint64_t
earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static int
run(struct daemon *d)
{
	d->status = -1;
	periodic_run(d, clock_monotonic_ns()); /* publish a heartbeat before READY=1 */
	notify_ready();
	log_line(LOG_INFO, "sweeping segment '%s'", d->config->name);
	while (d->status < 0) {
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t passes = d->sweeper.passes, due_ns = sweeper_run(&d->sweeper, now_ns);

		if (d->sweeper.passes > passes)
			mover_judge(&d->mover, d->sweeper.used, now_ns);
		due_ns = earlier(due_ns, mover_run(&d->mover, now_ns));
		due_ns = earlier(due_ns, periodic_run(d, now_ns));
		due_ns = earlier(due_ns, serve(d, now_ns));
		due_ns = earlier(due_ns, sharing_run(&d->sharing, now_ns));
		if (d->status < 0)
			wait_for_events(d, due_ns);
	}
	return d->status;
}

/* Metrics that nobody brings up to date any more would be lies. */
static void
stop(struct daemon *d)
{
	if (d->segment.rl && !segment_is_gone(&d->segment))
		log_line(LOG_INFO, "segment '%s' stays; nobody sweeps it", d->config->name);
	notify_stopping();
	probe_close(&d->probe);
	http_stop(d->http);
	listen_remove(&d->listener);
	textfile_remove(&d->textfile);
	watch_end(&d->watch);
	sharing_close(&d->sharing, clock_monotonic_ns());
	events_run(&d->events, clock_monotonic_ns());
	events_close(&d->events);
	counters_file_close(&d->counters);
	if (d->status >= 0) {
		periodic_keep_bans(d, true);
		counters_file_write(&d->counters, d->segment.rl);
	}
	bans_file_close(&d->bans);
	audit_end(&d->audit);
	sweeper_end(&d->sweeper);
	segment_close(&d->segment);
}

int
main(int argc, char **argv)
{
	struct daemon d = {.signal_fd = -1,
	                   .probe.fd = -1,
	                   .status = -1,
	                   .events = {.journal_fd = -1, .file_fd = -1}};
	int status;

	if (!options_parse(&d.options, argc, argv, &status))
		return status;
	log_open(d.options.is_verbose);
	d.config = load(&d.options);
	if (!d.config)
		return EXIT_REFUSED;
	if (d.options.is_check) {
		status = check(d.config);
	} else {
		status = start(&d);
		if (status == EXIT_DONE)
			status = run(&d);
		stop(&d);
	}
	config_free(d.config);
	return status;
}
