/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/notify.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

void
notify_ready(void)
{
	sd_notify(0, "READY=1");
}

/* The time lets the manager tell this reload from one that it asked for later. */
void
notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic_ns() / 1000);
}

void
notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void
notify_status(const char *text)
{
	sd_notifyf(0, "STATUS=%s", text);
}

void
notify_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
}

/* Half of what is allowed: one that comes late is no reason to be killed. */
uint64_t
notify_watchdog_ns(void)
{
	uint64_t usec;

	if (sd_watchdog_enabled(0, &usec) <= 0)
		return UINT64_MAX;
	return usec > UINT64_MAX / 1000 ? UINT64_MAX : usec * 1000 / 2;
}
