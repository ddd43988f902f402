/* SPDX-License-Identifier: BSD-2-Clause */
#include "visit.h"

#include <apr_atomic.h>
#include <http_log.h>

APLOG_USE_MODULE(rl);

#define SAY_EVERY_S 60
#define ERRORS 256 /* errno values; the last for those beyond */

/* By error: the second in which it was told last. Races tell one twice. */
static volatile apr_uint32_t reported[ERRORS];

static int
is_new(int error)
{
	unsigned at = (unsigned)-error < ERRORS ? (unsigned)-error : ERRORS - 1;
	apr_uint32_t now_s = (apr_uint32_t)apr_time_sec(apr_time_now());
	apr_uint32_t before = apr_atomic_read32(&reported[at]);

	if (before != 0 && now_s - before < SAY_EVERY_S)
		return 0;
	return apr_atomic_cas32(&reported[at], now_s, before) == before;
}

void
report_undecided(request_rec *r, const struct rule *rule, const char *where, int error,
                 const char *text)
{
	if (!is_new(error))
		return;
	ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
	              "rl: rule \"%s\" (%s) cannot decide: %s%s%s. Told at most once in %d s",
	              rule->name, where, text ? text : rl_strerror(error), text ? "" : ": ",
	              text ? "" : rl_error_remedy(error), SAY_EVERY_S);
}
