/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/truncation.h"

#include <setjmp.h>
#include <stddef.h>

static sigjmp_buf *way_out;

void
truncation_leave(int number, const siginfo_t *info)
{
	if (number == SIGBUS && info->si_code == BUS_ADRERR && way_out)
		siglongjmp(*way_out, 1);
}

/* Any other SIGBUS, of broken memory say, comes again when this returns, and kills. */
static void
leave(int number, siginfo_t *info, void *context)
{
	(void)context;
	truncation_leave(number, info);
	signal(number, SIG_DFL);
	raise(number);
}

bool
truncation_survive(void (*look)(void *arg), void *arg)
{
	const struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
	sigjmp_buf here, *volatile before = way_out;

	if (!before)
		sigaction(SIGBUS, &action, NULL);
	if (sigsetjmp(here, 1) != 0) {
		way_out = before;
		return false;
	}
	way_out = &here;
	look(arg);
	way_out = before;
	return true;
}
