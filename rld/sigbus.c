/* SPDX-License-Identifier: BSD-2-Clause */
#include "sigbus.h"

#include <signal.h>
#include <unistd.h>

static const struct daemon *watched;

/*
 * It comes from our own access to the segment, never from within libc: so a line may be logged. Any
 * other SIGBUS, of broken memory say, comes again when this returns, and kills.
 */
static void
say_truncated(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)context;
	if (info->si_code != BUS_ADRERR)
		return;
	log_line(LOG_ERR,
	         "segment '%s' was truncated by somebody who may write it: ending; remove it with "
	         "'rlctl unlink', start rld again, then restart the workers",
	         watched->config->name);
	textfile_remove(&watched->textfile);
	listen_remove(&watched->listener);
	_exit(EXIT_TROUBLE);
}

void
sigbus_watch(const struct daemon *d)
{
	struct sigaction action = {.sa_sigaction = say_truncated,
	                           .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND)};

	watched = d;
	sigaction(SIGBUS, &action, NULL);
}
