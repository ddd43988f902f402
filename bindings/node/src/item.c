/* SPDX-License-Identifier: BSD-2-Clause */
#include "item.h"

static bool
element(napi_env env, napi_value array, uint32_t at, double *to)
{
	napi_value value = array_of(env, array, at);

	if (napi_get_value_double(env, value, to) == napi_ok)
		return true;
	throw_type(env, "cost, capacity, burst or undelayed", "a number");
	return false;
}

static bool
bounded(napi_env env, const char *what, double value, double most)
{
	if (value >= 0 && value <= most && value == (double)(uint64_t)value)
		return true;
	throw_range(env, what, "out of range, or not a whole number");
	return false;
}

static bool
read_burst(napi_env env, napi_value array, struct rl_item *item)
{
	double burst, undelayed;

	if (!element(env, array, 4, &burst) || !element(env, array, 5, &undelayed) ||
	    (burst != -1 && !bounded(env, "burst", burst, UINT32_MAX)) ||
	    (undelayed != -1 && !bounded(env, "undelayed", undelayed, UINT32_MAX)))
		return false;
	if (burst >= 0) {
		item->burst = (uint32_t)burst;
		item->flags |= RL_ITEM_BURST;
	}
	if (undelayed >= 0) {
		item->undelayed = (uint32_t)undelayed;
		item->flags |= RL_ITEM_UNDELAYED;
	}
	return true;
}

/* Does its caller come again for a share? */
static bool
read_waits(napi_env env, napi_value array, struct rl_item *item)
{
	bool waits;

	if (napi_get_value_bool(env, array_of(env, array, 6), &waits) != napi_ok) {
		throw_type(env, "waits", "true or false");
		return false;
	}
	item->flags |= waits ? (uint32_t)RL_ITEM_WAITS : 0;
	return true;
}

bool
read_item(napi_env env, napi_value array, struct key *key, struct rl_item *item)
{
	double rule, cost, capacity;

	*item = (struct rl_item){0};
	if (!element(env, array, 0, &rule) || !value_key(env, array_of(env, array, 1), key) ||
	    !element(env, array, 2, &cost) || !bounded(env, "cost", cost, 9007199254740991.0) ||
	    !element(env, array, 3, &capacity) || !bounded(env, "capacity", capacity, UINT32_MAX) ||
	    !read_burst(env, array, item) || !read_waits(env, array, item))
		return false;
	item->rule = (int)rule;
	item->key = key->bytes;
	item->key_len = key->len;
	item->cost = (uint64_t)cost;
	item->capacity = (uint32_t)capacity;
	return true;
}

bool
call_ticket(struct call *c, size_t arg, struct ticket **ticket)
{
	void *data;
	size_t len;

	*ticket = NULL;
	if (!call_has(c, arg))
		return true;
	if (napi_get_arraybuffer_info(c->env, c->argv[arg], &data, &len) == napi_ok &&
	    len >= sizeof **ticket) {
		*ticket = data;
		return true;
	}
	throw_type(c->env, "a ticket", "an ArrayBuffer of this library");
	return false;
}

struct answer *
call_answer(struct call *c, size_t arg, size_t count)
{
	napi_typedarray_type type;
	size_t len;
	void *data;

	if (napi_get_typedarray_info(c->env, c->argv[arg], &type, &len, &data, NULL, NULL) ==
	            napi_ok &&
	    type == napi_float64_array && len >= count * ANSWER_DOUBLES)
		return data;
	throw_type(c->env, "results", "a Float64Array");
	return NULL;
}
