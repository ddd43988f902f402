/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "rule/policy.h"

/* For tables that a handle follows to, at most: of the smallest part, some 60,000 times. */
#define KEPT_MAX (UINT64_C(32) << 20)

bool
rl_kept_may_be(struct rl_handle *handle, uint64_t bytes)
{
	return rl_atomic_load_relaxed(&handle->followed) + bytes <= KEPT_MAX;
}

static struct rl_kept *
newest(struct rl_handle *handle)
{
	return rl_atomic_load_pointer(&handle->kept);
}

static const struct rl_kept *
find_kept(struct rl_handle *handle, uint32_t ring)
{
	const struct rl_kept *kept = newest(handle);

	while (kept && kept->ring != ring)
		kept = kept->earlier;
	return kept;
}

static void
free_kept(struct rl_kept *kept, const struct rl_geometry *g)
{
	for (uint32_t i = 0; kept->limits && i < g->limits; i++)
		while (kept->limits[i]) {
			struct rl_compiled *limit = kept->limits[i];

			kept->limits[i] = limit->earlier;
			free(limit);
		}
	free(kept->limits);
	free(kept->policies);
	free(kept);
}

static struct rl_kept *
make_kept(const struct rl_geometry *g)
{
	struct rl_kept *kept = calloc(1, sizeof *kept);

	if (!kept)
		return NULL;
	kept->ring = g->ring;
	kept->limits = calloc(g->limits, sizeof *kept->limits);
	kept->policies = calloc(g->rules, sizeof *kept->policies);
	if (kept->limits && kept->policies)
		return kept;
	free_kept(kept, g);
	return NULL;
}

/* Of threads that make one at the same time, each keeps its own. */
int
rl_kept_get(struct rl *rl)
{
	const struct rl_geometry *g = &rl->segment.geometry;
	const struct rl_kept *kept = find_kept(rl->handle, g->ring);
	uint64_t bytes = g->limits * sizeof *rl->limits + g->rules * sizeof *rl->policies;

	if (!kept) {
		struct rl_kept *mine = rl_kept_may_be(rl->handle, bytes) ? make_kept(g) : NULL;

		if (!mine)
			return -ENOMEM;
		do
			mine->earlier = newest(rl->handle);
		while (!rl_atomic_publish_pointer(&rl->handle->kept, mine->earlier, mine));
		rl_atomic_add(&rl->handle->followed, bytes);
		kept = mine;
	}
	rl->limits = kept->limits;
	rl->policies = kept->policies;
	return 0;
}

void
rl_kept_free(struct rl_handle *handle)
{
	struct rl_kept *kept = newest(handle);

	while (kept) {
		struct rl_kept *earlier = kept->earlier;

		free_kept(kept, &handle->first->segment.geometry);
		kept = earlier;
	}
}
