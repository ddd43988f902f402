/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <rl_admin.h>
#include <signal.h>
#include <time.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t has_come;

static void
note(int number)
{
	has_come = number;
}

/* A signal that is ignored stays so, as nohup(1) asks. */
void
interrupt_catch(void)
{
	struct sigaction action = {.sa_handler = note}, old;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

bool
interrupt_came(void)
{
	return has_come != 0;
}

/* The signals are let in only within ppoll(), so that none comes between look and sleep. */
bool
interrupt_sleep(uint64_t ns)
{
	struct timespec span = {(time_t)(ns / RL_SECOND), (long)(ns % RL_SECOND)};
	sigset_t held, before;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&held, numbers[i]);
	sigprocmask(SIG_BLOCK, &held, &before);
	if (!interrupt_came())
		ppoll(NULL, 0, &span, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return !interrupt_came();
}
