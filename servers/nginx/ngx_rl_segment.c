/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment of a block, while nginx runs.
 *
 *	master   ngx_rl_start()        opens or creates, defines the rules; an error is logged, and
 *	                               nginx goes on
 *	   fork: workers inherit the handle, and need no permission
 *	worker   ngx_rl_segment_look() each second, when a request comes: is the file still in its
 *	         place?               who is the first in this second asks the system, the others
 *	                               are told
 *	                               if not, or if there is no handle: open, define the rules
 *
 * Who finds another file counts that in a word of all workers, before it opens that file: each of
 * them sees it with its next request, so nobody counts in the old one once another counts in the
 * new. A worker that is killed after it was the first has told nothing, and in the next second
 * another one is.
 *
 * A handle is closed when nobody needs it any more: its segment has another, or is closed with the
 * cycle, and the last request that holds units by it has given them back.
 */
#include "ngx_rl.h"

#include <sys/stat.h>

static int
file_of(struct ngx_rl_segment *segment, struct stat *file)
{
	struct rl_place place;

	if (rl_place((const char *)segment->name.data, &segment->options, &place) < 0)
		return -1;
	return stat(place.path, file);
}

static int
is_in_place(struct ngx_rl_segment *segment)
{
	struct stat file;

	return file_of(segment, &file) == 0 && file.st_dev == segment->handle->device &&
	       file.st_ino == segment->handle->file;
}

/* Others have looked in this second. Clocks may be set back: any other second is a new one. */
static int
is_looked_after(struct ngx_rl_segment *segment, time_t now)
{
	ngx_atomic_uint_t second = *segment->second;

	return second == (ngx_atomic_uint_t)now ||
	       !ngx_atomic_cmp_set(segment->second, second, (ngx_atomic_uint_t)now);
}

/* Whether another is to be opened: there is none, or its file is not the one in its place. */
static int
is_gone(struct ngx_rl_segment *segment)
{
	ngx_atomic_uint_t seen = segment->seen;

	segment->seen = *segment->changes;
	if (segment->handle == NULL)
		return 1;
	if (segment->seen != seen)
		return !is_in_place(segment);
	if (is_looked_after(segment, segment->looked) || is_in_place(segment))
		return 0;
	if (ngx_atomic_cmp_set(segment->changes, seen, seen + 1))
		segment->seen++;
	return 1;
}

void
ngx_rl_handle_release(struct ngx_rl_handle *handle)
{
	if (--handle->users > 0)
		return;
	rl_close(handle->rl);
	ngx_free(handle);
}

/* 0, or -errno. */
static int
open_handle(struct ngx_rl_segment *segment, struct ngx_rl_handle **out, ngx_log_t *log)
{
	struct ngx_rl_handle *handle = ngx_alloc(sizeof *handle, log);
	struct stat file = {0};
	int error;

	if (handle == NULL)
		return -ENOMEM;
	error = rl_open((const char *)segment->name.data, &segment->options, &handle->rl);
	if (error < 0) {
		ngx_free(handle);
		return error;
	}
	/* A file that is replaced just now is seen at the next look. */
	(void)file_of(segment, &file);
	handle->device = file.st_dev;
	handle->file = file.st_ino;
	handle->users = 1;
	*out = handle;
	return 0;
}

static int
is_permission(int error)
{
	return error == -EACCES || error == -EPERM || error == RL_EDIRECTORY || error == RL_EOWNER;
}

/*
 * Where the master has said what is wrong, it is no news that its workers may not open that,
 * besides.
 */
static void
report_error(struct ngx_rl_main *main, int error, ngx_log_t *log)
{
	struct ngx_rl_segment *segment = &main->segment;

	if (is_permission(error) && ngx_rl_report_is_on(main, NGX_RL_REPORT_SEGMENT))
		return;
	if (!ngx_rl_report_is_new(main, NGX_RL_REPORT_SEGMENT, error))
		return;
	ngx_log_error(NGX_LOG_ERR, log, 0, "rl: segment \"%V\" cannot be opened: %s: %s; %s",
	              &segment->name, rl_strerror(error), rl_error_remedy(error),
	              segment->handle == NULL
	                      ? "until it can be, requests are treated as rl_on_error says"
	                      : "it was removed or replaced, and workers count on in the old one");
}

/* Try to open, and take the place of what was open. */
static void
renew(struct ngx_rl_main *main, ngx_log_t *log)
{
	struct ngx_rl_segment *segment = &main->segment;
	struct ngx_rl_handle *handle;
	int error = open_handle(segment, &handle, log);

	if (error < 0) {
		segment->error = error;
		report_error(main, error, log);
		return;
	}
	if (segment->handle != NULL)
		ngx_rl_handle_release(segment->handle);
	segment->handle = handle;
	segment->error = 0;
	ngx_rl_rules_unsettle(main);
	if (ngx_rl_report_end(main, NGX_RL_REPORT_SEGMENT))
		ngx_log_error(NGX_LOG_NOTICE, log, 0, "rl: segment \"%V\" is open now",
		              &segment->name);
}

struct ngx_rl_handle *
ngx_rl_segment_look(struct ngx_rl_main *main, ngx_log_t *log)
{
	struct ngx_rl_segment *segment = &main->segment;

	segment->looked = ngx_time();
	if (is_gone(segment))
		renew(main, log);
	if (segment->handle != NULL)
		ngx_rl_rules_settle(main, log);
	return segment->handle;
}

#define NOGROUP 65534 /* whose members have nothing in common */

/*
 * Workers may have to open the segment, too, once it was missing or replaced. So where the master
 * is root and its workers are not, and no group or mode is given, it is their group's.
 */
static void
share_with_workers(ngx_cycle_t *cycle, struct rl_options *options)
{
	ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);

	if (geteuid() != 0 || options->mode != 0 || options->flags & RL_OPEN_GROUP ||
	    !core->master || core->user == 0 || core->group == 0 || core->group == NOGROUP)
		return;
	options->group = core->group;
	options->mode = 0660;
	options->flags |= RL_OPEN_GROUP;
}

static void
close_segment(void *data)
{
	struct ngx_rl_segment *segment = data;

	if (segment->handle != NULL)
		ngx_rl_handle_release(segment->handle);
	segment->handle = NULL;
}

/*
 * What there is less of than was asked for. A rule for which the ring is too short is told by its
 * definition.
 */
static void
compare(struct ngx_rl_segment *segment, ngx_log_t *log)
{
	struct rl_options asked = segment->options;
	char text[RL_OPEN_TEXT_SIZE];
	struct rl_info info;

	asked.ring = segment->ring;
	rl_info(segment->handle->rl, &info);
	if (rl_open_compare(&info, &asked, text, sizeof text) < 0)
		ngx_log_error(NGX_LOG_WARN, log, 0,
		              "rl: segment \"%V\" is there, and less than was asked for: %s",
		              &segment->name, text);
}

static int
has_in_flight(const struct ngx_rl_main *main)
{
	struct ngx_rl_rule **rules = main->rules.elts;

	for (ngx_uint_t i = 0; i < main->rules.nelts; i++)
		for (unsigned j = 0; j < rules[i]->limit_count; j++)
			if (rules[i]->limits[j].algorithm == RL_IN_FLIGHT)
				return 1;
	return 0;
}

/*
 * Each worker that holds units of a key takes an entry of its ring, and after a reload there are
 * twice as many.
 */
static void
check_ring(ngx_cycle_t *cycle, struct ngx_rl_main *main)
{
	ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);
	struct rl_info info;

	rl_info(main->segment.handle->rl, &info);
	if (has_in_flight(main) && (ngx_int_t)info.ring < 2 * core->worker_processes)
		ngx_log_error(NGX_LOG_WARN, cycle->log, 0,
		              "rl: segment \"%V\" has a ring of %uD: limits in flight need 2 for "
		              "each of %i workers",
		              &main->segment.name, info.ring, core->worker_processes);
}

ngx_int_t
ngx_rl_start(ngx_cycle_t *cycle, struct ngx_rl_main *main)
{
	ngx_pool_cleanup_t *cleanup;

	if (main->rules.nelts == 0 || ngx_test_config)
		return NGX_OK;
	cleanup = ngx_pool_cleanup_add(cycle->pool, 0);
	if (cleanup == NULL || ngx_rl_reports_create(cycle, main) != NGX_OK)
		return NGX_ERROR;
	cleanup->handler = close_segment;
	cleanup->data = &main->segment;
	share_with_workers(cycle, &main->segment.options);
	if (ngx_rl_segment_use(main, cycle->log) == NULL)
		return NGX_OK;
	compare(&main->segment, cycle->log);
	check_ring(cycle, main);
	return NGX_OK;
}
