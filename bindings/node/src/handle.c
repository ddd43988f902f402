/* SPDX-License-Identifier: BSD-2-Clause */
#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;

static struct handle *
make(const struct rl_options *options)
{
	struct handle *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->users = 1;
	h->is_readonly = (options->flags & RL_OPEN_READONLY) != 0;
	return h;
}

static int
open_new(const char *name, const struct rl_options *options, struct handle **to)
{
	struct handle *h = make(options);
	int rc = h == NULL ? -ENOMEM : rlb_open(&h->s, name, options);

	if (rc < 0) {
		free(h);
		return rc;
	}
	h->is_named = true;
	h->next = handles;
	handles = h;
	*to = h;
	return 0;
}

static struct handle *
find(const char *name, bool is_readonly)
{
	for (struct handle *h = handles; h != NULL; h = h->next)
		if (h->is_named && !h->is_replaced && h->is_readonly == is_readonly &&
		    strcmp(h->s.name, name) == 0)
			return h;
	return NULL;
}

static int
share(struct handle *h, const struct rl_options *options, struct handle **to)
{
	struct rl_info info;

	rl_info(h->s.rl, &info);
	if (options->flags & RL_OPEN_AT_LEAST && rl_open_compare(&info, options, NULL, 0) < 0)
		return RL_ELESS;
	h->users++;
	*to = h;
	return 0;
}

static int
open_locked(const char *name, const struct rl_options *options, struct handle **to)
{
	struct handle *h = find(name, (options->flags & RL_OPEN_READONLY) != 0);

	if (h != NULL && rlb_is_current(&h->s))
		return share(h, options, to);
	if (h != NULL)
		h->is_replaced = true;
	return open_new(name, options, to);
}

int
handle_open(const char *name, const struct rl_options *options, struct handle **to)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = open_locked(name, options, to);
	pthread_mutex_unlock(&lock);
	return rc;
}

int
handle_open_private(const struct rl_options *options, struct handle **to)
{
	struct handle *h = make(options);
	int rc = h == NULL ? -ENOMEM : rlb_open_private(&h->s, options);

	if (rc < 0) {
		free(h);
		return rc;
	}
	pthread_mutex_lock(&lock);
	h->next = handles;
	handles = h;
	pthread_mutex_unlock(&lock);
	*to = h;
	return 0;
}

static void
unlist(struct handle *handle)
{
	struct handle **at = &handles;

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
}

static void
give_back_locked(struct handle *handle)
{
	if (--handle->users > 0)
		return;
	unlist(handle);
	rlb_close(&handle->s);
	free(handle);
}

void
handle_give_back(struct handle *handle)
{
	pthread_mutex_lock(&lock);
	give_back_locked(handle);
	pthread_mutex_unlock(&lock);
}

static int
renew_locked(struct handle **handle)
{
	struct handle *old = *handle, *new;
	int rc;

	if (!old->is_replaced && rlb_is_current(&old->s))
		return 0;
	rc = open_locked(old->s.name, &old->s.options, &new);
	if (rc < 0)
		return rc;
	give_back_locked(old);
	*handle = new;
	return 1;
}

int
handle_renew(struct handle **handle)
{
	int rc;

	if (!(*handle)->is_named)
		return 0;
	pthread_mutex_lock(&lock);
	rc = renew_locked(handle);
	pthread_mutex_unlock(&lock);
	return rc;
}
