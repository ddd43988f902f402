/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* The reader's word for an array's length, by version. */
#if HIREDIS_MAJOR >= 1
typedef size_t array_length;
typedef long long command_length;
#else
typedef int array_length;
typedef int command_length;
#endif

struct protocol {
	redisReader *reader;
	size_t since; /* bytes since the last whole reply */
	const char *error;
};

/*
 * Into the array that it is an item of. NULL, which the reader takes for "no memory", without one.
 */
static struct store_value *
make(const redisReadTask *task, enum store_type type)
{
	struct store_value *v = calloc(1, sizeof *v), *parent;

	if (!v)
		return NULL;
	v->type = type;
	if (task->parent) {
		parent = task->parent->obj;
		parent->items[task->idx] = v;
	}
	return v;
}

static void *
make_text(const redisReadTask *task, char *text, size_t size)
{
	char *copy = malloc(size + 1);
	struct store_value *v;

	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	copy[size] = '\0';
	v = make(task, task->type == REDIS_REPLY_ERROR ? STORE_ERROR : STORE_TEXT);
	if (!v) {
		free(copy);
		return NULL;
	}
	v->text = copy;
	v->size = size;
	return v;
}

static void *
make_array(const redisReadTask *task, array_length count)
{
	struct store_value **items, *v;

	if ((size_t)count > PROTOCOL_ITEMS_MAX)
		return NULL;
	items = calloc((size_t)count + 1, sizeof *items);
	v = items ? make(task, STORE_ARRAY) : NULL;
	if (!v) {
		free(items);
		return NULL;
	}
	v->items = items;
	v->count = (size_t)count;
	return v;
}

static void *
make_integer(const redisReadTask *task, long long n)
{
	struct store_value *v = make(task, STORE_INTEGER);

	if (v)
		v->integer = n;
	return v;
}

static void *
make_nil(const redisReadTask *task)
{
	return make(task, STORE_NIL);
}

static void
free_value(void *v)
{
	store_value_free(v);
}

static redisReplyObjectFunctions makers = {
	.createString = make_text,
	.createArray = make_array,
	.createInteger = make_integer,
	.createNil = make_nil,
	.freeObject = free_value,
};

struct protocol *
protocol_new(void)
{
	struct protocol *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->reader = redisReaderCreateWithFunctions(&makers);
	if (p->reader)
		return p;
	free(p);
	return NULL;
}

void
protocol_free(struct protocol *p)
{
	if (!p)
		return;
	redisReaderFree(p->reader);
	free(p);
}

int
protocol_feed(struct protocol *p, const char *bytes, size_t size)
{
	p->since += size;
	if (redisReaderFeed(p->reader, bytes, size) == REDIS_OK)
		return 0;
	p->error = p->reader->errstr;
	return -1;
}

int
protocol_next(struct protocol *p, struct store_value **value)
{
	void *reply = NULL;

	if (redisReaderGetReply(p->reader, &reply) != REDIS_OK) {
		p->error = p->reader->err == REDIS_ERR_OOM ? "an array is too long"
		                                           : p->reader->errstr;
		return -1;
	}
	*value = reply;
	if (reply) {
		p->since = p->reader->len - p->reader->pos;
		return 1;
	}
	if (p->since <= PROTOCOL_REPLY_MAX)
		return 0;
	p->error = "a reply has no end";
	return -1;
}

const char *
protocol_error(const struct protocol *p)
{
	return p->error;
}

char *
protocol_command(int argc, const char *const *argv, const size_t *sizes, size_t *size)
{
	char *bytes = NULL;
	/* The formatter's argument lacks a const, and is not written. */
	command_length length =
		redisFormatCommandArgv(&bytes, argc, (const char **)(uintptr_t)argv, sizes);

	*size = length > 0 ? (size_t)length : 0;
	return length > 0 ? bytes : NULL;
}

void
protocol_free_command(char *bytes)
{
	redisFreeCommand(bytes);
}
