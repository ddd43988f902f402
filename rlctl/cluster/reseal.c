/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster/reseal.h"

#include <cluster/order.h>
#include <cluster/script.h>
#include <cluster/seal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"

#define BATCH "100"

/* One that the store has, and the number of the last that was read. */
struct sealed {
	char name[SEAL_NAME];
	unsigned char bytes[ORDER_MAX + SEAL_MORE];
	size_t size;
};

struct batch {
	struct sealed *of;
	size_t count;
	char last[24];
};

static void
take_batch(void *arg, const struct store_value *v)
{
	struct batch *b = arg;

	free(b->of);
	b->of = need(calloc(v->count / 3 + 1, sizeof *b->of));
	b->count = 0;
	for (size_t i = 2; i + 2 < v->count; i += 3) {
		const struct store_value *bytes = v->items[i + 2];
		struct sealed *s = &b->of[b->count++];

		snprintf(b->last, sizeof b->last, "%s", store_text(v->items[i + 1]));
		snprintf(s->name, sizeof s->name, "%s", store_text(v->items[i]));
		s->size = bytes->size <= sizeof s->bytes ? bytes->size : 0;
		memcpy(s->bytes, store_text(bytes), s->size);
	}
}

static bool
put(struct client *c, const struct sealed *from, const char *name, const unsigned char *sealed)
{
	const char *argv[] = {"EVAL",
	                      script_reseal,
	                      "3",
	                      SCRIPT_ORDERS,
	                      SCRIPT_ORDERS_BY_NUMBER,
	                      SCRIPT_ORDERS_BY_END,
	                      from->name,
	                      name,
	                      (const char *)sealed};
	size_t sizes[9];

	for (int i = 0; i < 9; i++)
		sizes[i] = i == 8 ? from->size : strlen(argv[i]);
	return client_ask_bytes(c, SCRIPT_ORDERS, 9, argv, sizes, NULL, NULL);
}

/* One of another secret than the one before is left as it is. */
static bool
reseal(struct client *c, const struct sealed *from, const struct secret *before,
       const struct secret *now)
{
	unsigned char bytes[ORDER_MAX], subject[ORDER_MAX], sealed[ORDER_MAX + SEAL_MORE];
	char name[SEAL_NAME];
	struct order order;

	if (from->size <= SEAL_MORE ||
	    !seal_open(before, from->name, from->bytes, from->size, bytes) ||
	    !order_read(bytes, from->size - SEAL_MORE, &order))
		return true;
	if (!seal_name(now, subject, order_subject(&order, subject), name) ||
	    !seal_close(now, name, bytes, from->size - SEAL_MORE, sealed)) {
		complain("there is no memory to seal an order");
		return false;
	}
	return put(c, from, name, sealed);
}

bool
reseal_orders(struct client *c, const struct secret *before, const struct secret *now)
{
	struct batch b = {.last = "0"};
	const char *argv[] = {"EVAL",        script_read_orders,      "2",
	                      SCRIPT_ORDERS, SCRIPT_ORDERS_BY_NUMBER, b.last,
	                      BATCH};
	bool is_good = true;

	do {
		is_good = client_ask(c, SCRIPT_ORDERS, 7, argv, take_batch, &b);
		for (size_t i = 0; is_good && i < b.count; i++)
			is_good = reseal(c, &b.of[i], before, now);
	} while (is_good && b.count > 0);
	free(b.of);
	return is_good;
}
