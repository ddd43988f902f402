/* SPDX-License-Identifier: BSD-2-Clause */
#include "handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;

/* What file has the name; false: none has, or it cannot be seen. */
static bool
identify(const char *name, uint64_t *device, uint64_t *inode)
{
	struct rl_place place;
	struct stat st;

	if (rl_place(name, NULL, &place) < 0 || stat(place.path, &st) < 0)
		return false;
	*device = st.st_dev;
	*inode = st.st_ino;
	return true;
}

/*
 * Open, and know which file it is: the one that had the name before and after. Whoever creates it,
 * or sees it replaced just then, opens it once more.
 */
static int
open_known(struct handle *h)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t device, inode;
		bool was_there = identify(h->name, &device, &inode);
		int rc = rl_open(h->name, &h->options, &h->rl);

		if (rc < 0)
			return rc;
		if (was_there && identify(h->name, &h->device, &h->inode) && h->device == device &&
		    h->inode == inode)
			return 0;
		rl_close(h->rl);
	}
	return -EAGAIN;
}

static struct handle *
make(const char *name, const struct rl_options *options)
{
	struct handle *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->users = 1;
	if (options != NULL)
		h->options = *options;
	h->is_readonly = (h->options.flags & RL_OPEN_READONLY) != 0;
	if (name != NULL) {
		h->is_named = true;
		strncpy(h->name, name, sizeof h->name - 1);
	}
	return h;
}

static int
open_new(const char *name, const struct rl_options *options, struct handle **to)
{
	struct handle *h = make(name, options);
	int rc = h == NULL ? -ENOMEM : open_known(h);

	if (rc < 0) {
		free(h);
		return rc;
	}
	h->next = handles;
	handles = h;
	*to = h;
	return 0;
}

static bool
is_current(const struct handle *h)
{
	uint64_t device, inode;

	return identify(h->name, &device, &inode) && device == h->device && inode == h->inode;
}

static struct handle *
find(const char *name, bool is_readonly)
{
	for (struct handle *h = handles; h != NULL; h = h->next)
		if (h->is_named && !h->is_replaced && h->is_readonly == is_readonly &&
		    strcmp(h->name, name) == 0)
			return h;
	return NULL;
}

static int
share(struct handle *h, const struct rl_options *options, struct handle **to)
{
	struct rl_info info;

	rl_info(h->rl, &info);
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

	if (h != NULL && is_current(h))
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
	struct handle *h = make(NULL, options);
	int rc = h == NULL ? -ENOMEM : rl_open_private(options, &h->rl);

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
	rl_close(handle->rl);
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

	if (!old->is_replaced && is_current(old))
		return 0;
	rc = open_locked(old->name, &old->options, &new);
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
