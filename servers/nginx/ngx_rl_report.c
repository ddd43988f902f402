/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is logged once, by all workers together. One word for the segment and one for each rule, in
 * memory that the master shares with its workers: the error, and when it was last seen, in seconds.
 * A worker that sees another error, or one that was away for a minute, writes it by a
 * compare-and-swap; who succeeds logs. A worker that is killed in between has written the word or
 * not.
 *
 * Another word of each rule is a checksum of its limits as they were in force when they were last
 * looked at. When a reload defines rules otherwise, workers of the configuration before are still
 * there for a while: the last of their words tells them to say nothing of it.
 */
#include "ngx_rl.h"

#include <sys/mman.h>

#define AWAY_SECONDS 60

/* Of the configuration in force; the master alone has it when it reads another. */
static struct ngx_rl_reports *current;

static ngx_atomic_t *
is_over(const struct ngx_rl_reports *reports)
{
	return &reports->words[reports->count - 1];
}

static void
destroy(void *data)
{
	struct ngx_rl_reports *reports = data;

	if (current == reports)
		current = NULL;
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
	reports->count = 2 * main->rules.nelts + 4;
	words = mmap(NULL, reports->count * sizeof *reports->words, PROT_READ | PROT_WRITE,
	             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (words == MAP_FAILED)
		return NGX_ERROR;
	reports->words = words;
	main->segment.second = &reports->words[reports->count - 3];
	main->segment.changes = &reports->words[reports->count - 2];
	cleanup->handler = destroy;
	cleanup->data = reports;
	if (current != NULL)
		*is_over(current) = 1;
	current = reports;
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

int
ngx_rl_report_is_other(struct ngx_rl_main *main, ngx_uint_t index, uint32_t value)
{
	ngx_atomic_t *word = main->reports.words == NULL ? NULL : &main->reports.words[index];
	ngx_atomic_uint_t is = (ngx_atomic_uint_t)1 << 32 | value, was; /* never 0, as before any */

	if (word == NULL || *is_over(&main->reports))
		return 0;
	was = *word;
	return was != is && ngx_atomic_cmp_set(word, was, is);
}
