/* SPDX-License-Identifier: BSD-2-Clause */
#include "store.h"
#include "review.h"

#include <apr_strings.h>
#include <errno.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unixd.h>

APLOG_USE_MODULE(rl);

#define LOOK_EVERY apr_time_from_sec(1)
#define NOT_TRIED 1 /* no error of rl's is positive */

struct store {
	struct rl *rl;
	char path[RL_PATH_MAX];
	dev_t dev; /* of the file, as it was when it was opened */
	ino_t ino;
	unsigned users; /* under now.lock: who has entered, and `now` itself */
	size_t rules;
	int *handles; /* by rule.index; read and written without the lock, a word each */
};

static struct {
	pthread_mutex_t lock; /* held for a few instructions, never while a segment is opened */
	struct store *store;
	int error; /* why there is none */
	int is_looking;
	int is_unsure; /* whether the store is the segment still: who enters waits, microseconds, or
	                  until another is open */
	pthread_cond_t sure;
	apr_time_t looked;
	pid_t parent;
	int is_root; /* the parent: then children are of another user */
} now = {.lock = PTHREAD_MUTEX_INITIALIZER, .sure = PTHREAD_COND_INITIALIZER, .error = NOT_TRIED};

/* Rules */

/*
 * One that is there as another is replaced, and that is told: some program says otherwise, or this
 * one did.
 */
static int
define_or_replace(struct rl *rl, const struct rule *rule)
{
	int handle = define_rule(rl, rule, RL_DEFINE_KEEP);

	if (handle != RL_EDEFINED)
		return handle;
	ap_log_error(
		APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
		"rl: segment \"%s\": rule \"%s\" was defined otherwise, by another program or by "
		"this one before; it is as %s says now",
		server_conf->segment, rule->name, rule->defined);
	return define_rule(rl, rule, 0);
}

static void
report_rule(const struct rule *rule, int handle)
{
	if (handle < 0)
		ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
		             "rl: segment \"%s\": rule \"%s\": %s: %s; tried again each second",
		             server_conf->segment, rule->name,
		             handle == -ENOENT
		                     ? "the configuration of the segment has none of this name"
		                     : rl_strerror(handle),
		             rl_error_remedy(handle));
	else
		ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
		             "rl: segment \"%s\": rule \"%s\" is there", server_conf->segment,
		             rule->name);
}

/*
 * Define or find the rules that have no handle, and look at all. What is another than before is
 * told.
 */
static void
look_for_rules(struct store *store, int is_first)
{
	for (size_t i = 0; i < store->rules; i++) {
		const struct rule *rule =
			APR_ARRAY_IDX(server_conf->rules, (int)i, const struct rule *);
		int before = __atomic_load_n(&store->handles[i], __ATOMIC_RELAXED), handle;

		handle = before >= 0 ? before : define_or_replace(store->rl, rule);
		__atomic_store_n(&store->handles[i], handle, __ATOMIC_RELAXED);
		if (handle != before && !(is_first && handle >= 0))
			report_rule(rule, handle);
		if (handle >= 0)
			review_rule(store->rl, rule, handle);
	}
}

/* Opening */

static void
close_store(struct store *store)
{
	if (!store)
		return;
	rl_close(store->rl);
	free(store->handles);
	free(store);
}

/*
 * Workers of another user than the one who made the segment open it as members of the server's
 * group.
 */
static struct rl_options
options_here(void)
{
	struct rl_options options = server_conf->options;

	if (!server_conf->has_group && !(options.flags & RL_OPEN_GROUP) && now.is_root) {
		options.flags |= RL_OPEN_GROUP;
		options.group = ap_unixd_config.group_id;
	}
	if (options.flags & RL_OPEN_GROUP && options.mode == 0)
		options.mode = 0660;
	return options;
}

/* The file of the segment; 0, or -errno. */
static int
identify(struct store *store, const struct rl_options *options, struct stat *is)
{
	struct rl_place place;
	int error = rl_place(server_conf->segment, options, &place);

	if (error < 0)
		return error;
	memcpy(store->path, place.path, sizeof(store->path));
	return stat(store->path, is) < 0 ? -errno : 0;
}

/* Open, and know which file it is: that has not changed while it was opened. */
static int
open_file(struct store *store, const struct rl_options *options)
{
	struct stat before = {0}, after = {0};
	int error;

	for (int tries = 0; tries < 3; tries++) {
		identify(store, options, &before);
		error = rl_open(server_conf->segment, options, &store->rl);
		if (error < 0)
			return error;
		error = identify(store, options, &after);
		store->dev = after.st_dev;
		store->ino = after.st_ino;
		if (error == 0 && (before.st_ino == 0 || before.st_ino == after.st_ino))
			return 0;
		rl_close(store->rl);
	}
	return -EAGAIN;
}

/* A rule for which the ring is too short is told by its definition. */
static void
report_less(const struct store *store, struct rl_options asked)
{
	char text[RL_OPEN_TEXT_SIZE];
	struct rl_info info;

	asked.ring = server_conf->ring;
	rl_info(store->rl, &info);
	if (rl_open_compare(&info, &asked, text, sizeof(text)) < 0)
		ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
		             "rl: segment \"%s\" is used as it is, with less than RLSegment asks "
		             "for: %s",
		             server_conf->segment, text);
}

/* NULL, and *error. */
static struct store *
open_store(int *error)
{
	struct store *store = calloc(1, sizeof(*store));
	struct rl_options options = options_here();

	*error = store ? 0 : -ENOMEM;
	if (!store)
		return NULL;
	store->users = 1;
	store->rules = (size_t)server_conf->rules->nelts;
	store->handles = malloc((store->rules + 1) * sizeof(*store->handles));
	*error = store->handles ? open_file(store, &options) : -ENOMEM;
	if (*error < 0) {
		free(store->handles);
		free(store);
		return NULL;
	}
	for (size_t i = 0; i < store->rules; i++)
		store->handles[i] = -EINPROGRESS;
	look_for_rules(store, 1);
	report_less(store, options);
	return store;
}

static int
is_permission(int error)
{
	return error == -EACCES || error == -EPERM || error == RL_EDIRECTORY || error == RL_EOWNER;
}

/*
 * Said once, and again when it is another error. The parent has said why there is none; that each
 * of its children lacks permission, besides, is for who asks for details.
 */
static void
report_error(int error, int before)
{
	int level = before != NOT_TRIED && is_permission(error) ? APLOG_INFO : APLOG_ERR;

	ap_log_error(
		APLOG_MARK, level, 0, ap_server_conf,
		"rl: segment \"%s\" cannot be opened: %s: %s%s. Requests go as RLOnError says; "
		"tried again each second",
		server_conf->segment, rl_strerror(error), rl_error_remedy(error),
		is_permission(error) ? "; see \"Who may open the segment\" in mod_rl's README"
				     : "");
}

/* Take the new segment, or note why there is none; return what is to be closed. */
static struct store *
replace(struct store *store, int error)
{
	struct store *old = NULL;
	int before = now.error;

	if (!store && now.store) {
		if (error != before)
			ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
			             "rl: segment \"%s\" was removed, and cannot be opened anew: "
			             "%s: %s. "
			             "The old one limits on; tried again each second",
			             server_conf->segment, rl_strerror(error),
			             rl_error_remedy(error));
		now.error = error;
		return NULL;
	}
	if (store && before != NOT_TRIED)
		ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
		             "rl: segment \"%s\" is open%s", server_conf->segment,
		             now.store ? " anew: another has its name" : "");
	else if (error < 0 && error != before)
		report_error(error, before);
	pthread_mutex_lock(&now.lock);
	if (now.store && --now.store->users == 0)
		old = now.store;
	now.store = store;
	now.error = error;
	pthread_mutex_unlock(&now.lock);
	return old;
}

static int
is_current(const struct store *store)
{
	struct stat is;

	return stat(store->path, &is) == 0 && is.st_ino == store->ino && is.st_dev == store->dev;
}

/* Under the lock. */
static void
be_sure(void)
{
	now.is_unsure = 0;
	pthread_cond_broadcast(&now.sure);
}

/* One thread of the process is here at a time, and now.store changes here alone. */
static void
look(void)
{
	struct store *store;
	int error;

	if (now.store && is_current(now.store)) {
		pthread_mutex_lock(&now.lock);
		be_sure();
		pthread_mutex_unlock(&now.lock);
		look_for_rules(now.store, 0);
		return;
	}
	store = open_store(&error);
	close_store(replace(store, error));
}

/* The parent and its children */

static apr_status_t
leave_parent(void *unused)
{
	(void)unused;
	if (getpid() != now.parent) /* threads may still decide: the end of the process closes it */
		return APR_SUCCESS;
	close_store(now.store);
	now.store = NULL;
	return APR_SUCCESS;
}

void
store_start(apr_pool_t *pconf)
{
	now.parent = getpid();
	now.is_root = geteuid() == 0;
	if (server_conf->rules->nelts == 0)
		return;
	review_start(pconf);
	look();
	apr_pool_cleanup_register(pconf, NULL, leave_parent, apr_pool_cleanup_null);
}

/* Prefetched units are for others now. */
static apr_status_t
leave_child(void *unused)
{
	(void)unused;
	if (now.store)
		rl_prefetch_return(now.store->rl);
	return APR_SUCCESS;
}

void
store_child(apr_pool_t *pchild)
{
	now.looked = 0;
	now.is_looking = now.is_unsure = 0;
	apr_pool_cleanup_register(pchild, NULL, leave_child, apr_pool_cleanup_null);
}

/* Requests */

/* Whether this thread is to look; under the lock. The clock may have been set back. */
static int
is_due(apr_time_t at)
{
	if (now.is_looking || (at >= now.looked && at - now.looked < LOOK_EVERY))
		return 0;
	now.looked = at;
	now.is_looking = 1;
	now.is_unsure = now.store != NULL;
	return 1;
}

struct store *
store_enter(apr_time_t at, int *error)
{
	struct store *store;
	int is_looker;

	pthread_mutex_lock(&now.lock);
	is_looker = is_due(at);
	if (is_looker) {
		pthread_mutex_unlock(&now.lock);
		look();
		pthread_mutex_lock(&now.lock);
		now.is_looking = 0;
		be_sure();
	}
	while (now.is_unsure)
		pthread_cond_wait(&now.sure, &now.lock);
	store = now.store;
	if (store)
		store->users++;
	*error = now.error;
	pthread_mutex_unlock(&now.lock);
	return store;
}

void
store_again(struct store *store)
{
	pthread_mutex_lock(&now.lock);
	store->users++;
	pthread_mutex_unlock(&now.lock);
}

void
store_leave(struct store *store)
{
	unsigned users;

	pthread_mutex_lock(&now.lock);
	users = --store->users;
	pthread_mutex_unlock(&now.lock);
	if (users == 0)
		close_store(store);
}

struct rl *
store_segment(const struct store *store)
{
	return store->rl;
}

int
store_rule(const struct store *store, const struct rule *rule)
{
	return __atomic_load_n(&store->handles[rule->index], __ATOMIC_RELAXED);
}

void
store_forget_rule(struct store *store, const struct rule *rule)
{
	__atomic_store_n(&store->handles[rule->index], RL_EREMOVED, __ATOMIC_RELAXED);
}
