/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_DAEMON_H
#define RLD_DAEMON_H

#include <load/load.h>

#include "audit.h"
#include "bans_file.h"
#include "counters_file.h"
#include "events.h"
#include "http.h"
#include "lending.h"
#include "listen.h"
#include "log.h"
#include "mover.h"
#include "options.h"
#include "probe.h"
#include "report.h"
#include "segment.h"
#include "sweeper.h"
#include "textfile.h"
#include "watch.h"

/* All that rld has. What is durable is in the segment: this can be lost at any instruction. */
struct daemon {
	struct options options;
	struct config *config; /* in force */
	struct segment segment;
	struct sweeper sweeper;
	struct mover mover;
	struct watch watch;
	struct lending lending;
	struct loads loads;
	struct listener listener;
	struct http *http;
	struct probe probe; /* of `http`, for the watchdog */
	struct textfile textfile;
	struct events events;
	struct log_pace textfile_pace;
	struct audit audit;
	struct bans_file bans;
	struct log_pace bans_pace;
	struct counters_file counters;
	int signal_fd;
	int status; /* to exit with; below 0 as long as it is to go on */
};

#endif
