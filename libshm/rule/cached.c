/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/cached.h"

#include <errno.h>
#include <stdlib.h>

#include "rule/policy.h"

/* For tables that a handle follows to, at most: of the smallest part, some 60,000 times. */
#define KEPT_MAX (UINT64_C(32) << 20)

bool
rl_cached_may_be(struct rl_handle *handle, uint64_t bytes)
{
	return rl_atomic_load_relaxed(&handle->followed) + bytes <= KEPT_MAX;
}

static struct rl_cached *
newest(struct rl_handle *handle)
{
	return rl_atomic_load_pointer(&handle->cached);
}

static const struct rl_cached *
find_cached(struct rl_handle *handle, uint32_t ring)
{
	const struct rl_cached *cached = newest(handle);

	while (cached && cached->ring != ring)
		cached = cached->earlier;
	return cached;
}

static void
free_cached(struct rl_cached *cached, const struct rl_geometry *g)
{
	for (uint32_t i = 0; cached->limits && i < g->limits; i++)
		while (cached->limits[i]) {
			struct rl_compiled *limit = cached->limits[i];

			cached->limits[i] = limit->earlier;
			free(limit);
		}
	free(cached->limits);
	free(cached->policies);
	free(cached);
}

static struct rl_cached *
make_cached(const struct rl_geometry *g)
{
	struct rl_cached *cached = calloc(1, sizeof *cached);

	if (!cached)
		return NULL;
	cached->ring = g->ring;
	cached->limits = calloc(g->limits, sizeof *cached->limits);
	cached->policies = calloc(g->rules, sizeof *cached->policies);
	if (cached->limits && cached->policies)
		return cached;
	free_cached(cached, g);
	return NULL;
}

/* Of threads that make one at the same time, each keeps its own. */
int
rl_cached_get(struct rl *rl)
{
	const struct rl_geometry *g = &rl->segment.geometry;
	const struct rl_cached *cached = find_cached(rl->handle, g->ring);
	uint64_t bytes = g->limits * sizeof *rl->limits + g->rules * sizeof *rl->policies;

	if (!cached) {
		struct rl_cached *mine =
			rl_cached_may_be(rl->handle, bytes) ? make_cached(g) : NULL;

		if (!mine)
			return -ENOMEM;
		do
			mine->earlier = newest(rl->handle);
		while (!rl_atomic_publish_pointer(&rl->handle->cached, mine->earlier, mine));
		rl_atomic_add(&rl->handle->followed, bytes);
		cached = mine;
	}
	rl->limits = cached->limits;
	rl->policies = cached->policies;
	return 0;
}

void
rl_cached_free(struct rl_handle *handle)
{
	struct rl_cached *cached = newest(handle);

	while (cached) {
		struct rl_cached *earlier = cached->earlier;

		free_cached(cached, &handle->first->segment.geometry);
		cached = earlier;
	}
}
