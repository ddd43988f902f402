/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/progress.h"

static const char erase[] = "\r\033[K";
static bool is_shown;

/* The default action, restored by SA_RESETHAND, ends the program. */
static void
end_quietly(int number)
{
	ssize_t ignored = write(STDERR_FILENO, erase, sizeof(erase) - 1);

	(void)ignored;
	raise(number);
}

/* Unless the work sees to its interrupts itself, as interrupt.h has it. */
static void
catch_interrupt(void)
{
	struct sigaction action = {.sa_handler = end_quietly, .sa_flags = (int)SA_RESETHAND}, old;

	sigaction(SIGINT, NULL, &old);
	if (old.sa_handler == SIG_DFL)
		sigaction(SIGINT, &action, NULL);
}

void
progress_show(const char *what, uint64_t number)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (!is_shown)
		catch_interrupt();
	is_shown = true;
	fprintf(stderr, "%s%s %" PRIu64, erase, what, number);
}

void
progress_erase(void)
{
	if (!is_shown)
		return;
	fputs(erase, stderr);
	is_shown = false;
}
