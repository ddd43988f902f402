/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_DAEMON_H
#define RLD_DAEMON_H

#include <load/load.h>

#include "base/log.h"
#include "base/options.h"
#include "keep/bans_file.h"
#include "keep/counters_file.h"
#include "loop/audit.h"
#include "loop/events.h"
#include "loop/mover.h"
#include "loop/segment.h"
#include "loop/sharing.h"
#include "loop/sweeper.h"
#include "loop/watch.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/probe.h"
#include "serve/report.h"
#include "serve/textfile.h"

/* All that rld has. What is durable is in the segment: this can be lost at any instruction. */
struct daemon {
	struct options options;
	struct config *config; /* in force */
	struct segment segment;
	struct sweeper sweeper;
	struct mover mover;
	struct watch watch;
	struct sharing sharing;
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
