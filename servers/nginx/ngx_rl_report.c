/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is logged once, by all workers together. One word for the segment and one for each rule, in memory that
 * the master shares with its workers: the error, and when it was last seen, in seconds. A worker that
 * sees another error, or one that was away for a minute, writes it by a compare-and-swap; who succeeds logs.
 * A worker that is killed in between has written the word or not.
 */
#include "ngx_rl.h"

#include <sys/mman.h>

#define AWAY_SECONDS 60

static void
destroy(void *data)
{
	struct ngx_rl_reports *reports = data;

	munmap((void *)reports->words, reports->count * sizeof *reports->words);
	reports->words = NULL;
}

ngx_int_t
ngx_rl_reports_create(ngx_cycle_t *cycle, struct ngx_rl_main *main)
{
	struct ngx_rl_reports *reports = &main->reports;
	ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cycle->pool, 0);
	void *words;

	if (cleanup == NULL)
		return NGX_ERROR;
	reports->count = main->rules.nelts + 1;
	words = mmap(NULL, reports->count * sizeof *reports->words, PROT_READ | PROT_WRITE,
	             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (words == MAP_FAILED)
		return NGX_ERROR;
	reports->words = words;
	cleanup->handler = destroy;
	cleanup->data = reports;
	return NGX_OK;
}

static ngx_atomic_uint_t
word_of(int error, time_t now)
{
	return (ngx_atomic_uint_t)(unsigned)-error << 32 | (ngx_atomic_uint_t)(uint32_t)now;
}

int
ngx_rl_report_is_new(struct ngx_rl_main *main, ngx_uint_t index, int error)
{
	ngx_atomic_uint_t is = word_of(error, ngx_time()), was;

	if (main->reports.words == NULL)
		return 1;
	was = main->reports.words[index];
	if (was == is || !ngx_atomic_cmp_set(&main->reports.words[index], was, is))
		return 0; /* seen in this second, or another worker sees one just now */
	/* Another worker's clock may be ahead: nginx reads it once for each round of events. */
	return was >> 32 != is >> 32 || (int32_t)((uint32_t)is - (uint32_t)was) > AWAY_SECONDS;
}

int
ngx_rl_report_is_on(const struct ngx_rl_main *main, ngx_uint_t index)
{
	return main->reports.words != NULL && main->reports.words[index] != 0;
}

int
ngx_rl_report_end(struct ngx_rl_main *main, ngx_uint_t index)
{
	ngx_atomic_uint_t was;

	if (main->reports.words == NULL)
		return 0;
	was = main->reports.words[index];
	return was != 0 && ngx_atomic_cmp_set(&main->reports.words[index], was, 0);
}
