/* SPDX-License-Identifier: BSD-2-Clause */
#include "connection.h"

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#define BACKOFF_MIN (50 * RL_MILLISECOND)
#define BACKOFF_MAX (5 * RL_SECOND)
#define CONNECT_MIN RL_SECOND /* for a look-up, a handshake and the first answers at least */
#define ALONE RL_SECOND /* until a replica is looked for again, by those who lend without one */
#define READ_MAX (256u << 10) /* at a time: a node that talks without end holds up nobody */

void
connection_init(struct connection *c, const struct store_options *options, int epoll,
                struct tls_context *tls, const struct store_address *address, uint64_t random)
{
	*c = (struct connection){.options = options, .address = *address, .random = random | 1};
	stream_init(&c->stream, epoll, tls, &c->address);
	requests_init(&c->asked);
	requests_init(&c->unsure);
	c->backoff_ns = BACKOFF_MIN;
	c->is_wanted = true;
}

static uint64_t
draw(struct connection *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return below > 0 ? c->random % below : 0;
}

/* The same is told once, until it was well again. */
static void
report(struct connection *c, bool is_trouble, const char *what)
{
	char address[STORE_ADDRESS_MAX], text[STORE_ADDRESS_MAX + 240];

	if (strncmp(c->reported, what, sizeof c->reported - 1) == 0 ||
	    (!is_trouble && c->reported[0] == '\0'))
		return;
	snprintf(c->reported, sizeof c->reported, "%s", is_trouble ? what : "");
	address_text(&c->address, address);
	snprintf(text, sizeof text, "store %s: %s", address, what);
	c->options->report(c->options->report_arg, is_trouble, text);
}

static void
give(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	if (r->take) {
		r->take(c, r, v, now_ns);
	} else {
		store_value_free(v);
		request_free(r);
	}
}

static void
give_all_up(struct connection *c, struct requests *q, uint64_t now_ns)
{
	struct requests gone = *q;
	struct request *r;

	if (!q->first)
		gone.end = &gone.first;
	requests_init(q);
	while ((r = requests_take(&gone)))
		give(c, r, NULL, now_ns);
}

void
connection_close(struct connection *c, uint64_t now_ns)
{
	stream_close(&c->stream);
	protocol_free(c->protocol);
	c->protocol = NULL;
	c->is_ready = false;
	c->unwaited = 0;
	c->given_up = 0;
	c->retry_ns = now_ns + c->backoff_ns / 2 + draw(c, c->backoff_ns / 2 + 1);
	c->backoff_ns = c->backoff_ns * 2 < BACKOFF_MAX ? c->backoff_ns * 2 : BACKOFF_MAX;
	give_all_up(c, &c->unsure, now_ns);
	give_all_up(c, &c->asked, now_ns);
}

static void
fail(struct connection *c, const char *why, uint64_t now_ns)
{
	report(c, true, why);
	connection_close(c, now_ns);
}

/* As an answer, in full: a reply's text is the server's, and is cut to a line. */
static void
take_hello(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	char why[160];

	(void)now_ns;
	if (v && v->type == STORE_ERROR) {
		snprintf(why, sizeof why, "%s: %.100s", (const char *)r->arg, v->text);
		report(c, true, why);
		c->is_wanted = c->is_wanted && !store_is_error(v, "DENIED");
		snprintf(c->stream.why, sizeof c->stream.why, "%s", why);
		c->stream.phase = STREAM_CLOSED; /* connection_run() sees to it */
	}
	store_value_free(v);
	request_free(r);
}

static void
take_name(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	(void)c;
	(void)now_ns;
	store_value_free(v); /* who may not give a name has none, and a Sentinel without users
	                        asks for nobody's password */
	request_free(r);
}

/* A user who may not hear the channel does without. */
static void
take_channel(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	(void)now_ns;
	if (v && v->type == STORE_ERROR)
		report(c, true, "it refuses SUBSCRIBE: what others give back is known later");
	store_value_free(v);
	request_free(r);
}

static void subscribe(struct connection *c, uint64_t now_ns);

/* The last of the hello: whatever is answered, the node is there. */
static void
take_ping(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	if (v && v->type != STORE_ERROR) {
		c->is_ready = true;
		c->backoff_ns = BACKOFF_MIN;
		c->connected++;
		report(c, false, "it answers again");
		subscribe(c, now_ns);
		store_value_free(v);
		request_free(r);
	} else {
		take_hello(c, r, v, now_ns);
	}
}

static void
say(struct connection *c, request_take *take, const char *what, int argc, const char *const *argv,
    uint64_t now_ns)
{
	size_t size = 0;
	char *bytes = protocol_command(argc, argv, NULL, &size);
	struct request *r = request_new(bytes, size, take, NULL);

	if (!r)
		return;
	r->arg = (void *)(uintptr_t)what;
	connection_ask(c, r, now_ns);
}

static void
subscribe(struct connection *c, uint64_t now_ns)
{
	const char *argv[] = {"SUBSCRIBE", c->channel};

	if (c->channel)
		say(c, take_channel, "channel", 2, argv, now_ns);
}

static void
take_pong(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	(void)c;
	(void)now_ns;
	store_value_free(v);
	request_free(r);
}

void
connection_ping(struct connection *c, uint64_t now_ns)
{
	const char *argv[] = {"PING"};

	say(c, take_pong, "ping", 1, argv, now_ns);
}

static void
authenticate(struct connection *c, uint64_t now_ns)
{
	const char *user = c->options->user, *password = c->options->password;
	const char *argv[3] = {"AUTH", user ? user : password, password};

	if (password)
		say(c, c->is_sentinel ? take_name : take_hello, "it refuses the user or password",
		    user ? 3 : 2, argv, now_ns);
}

void
connection_load_scripts(struct connection *c, uint64_t now_ns)
{
	for (int i = 0; i < STORE_SCRIPTS; i++) {
		const char *argv[] = {"SCRIPT", "LOAD", c->options->scripts[i]};

		if (argv[2] && !c->is_sentinel)
			say(c, take_hello, "it refuses a script", 3, argv, now_ns);
	}
}

static void
hello(struct connection *c, uint64_t now_ns)
{
	const char *name[] = {"CLIENT", "SETNAME", c->options->name};
	const char *ping[] = {"PING"};

	authenticate(c, now_ns);
	if (c->options->name)
		say(c, take_name, "name", 3, name, now_ns);
	if (!c->channel)
		connection_load_scripts(c, now_ns);
	say(c, take_ping, "it does not answer a ping", 1, ping, now_ns);
}

static void
open_up(struct connection *c, uint64_t now_ns)
{
	c->protocol = protocol_new();
	c->heard_ns = now_ns;
	if (!c->protocol)
		fail(c, strerror(ENOMEM), now_ns);
	else if (stream_connect(&c->stream) < 0)
		fail(c, c->stream.why, now_ns);
}

bool
connection_takes(const struct connection *c, size_t size)
{
	return c->is_ready && c->given_up == 0 && c->asked.count < CONNECTION_REQUESTS_MAX &&
	       stream_has_room(&c->stream, size);
}

void
connection_ask(struct connection *c, struct request *r, uint64_t now_ns)
{
	if (c->asked.count == 0)
		c->heard_ns = now_ns;
	if (r->asked_ns == 0)
		r->asked_ns = now_ns;
	if (r->due_ns == 0)
		r->due_ns = now_ns + c->options->timeout_ns;
	if (stream_write(&c->stream, r->bytes, r->size) < 0) {
		give(c, r, NULL, now_ns);
		return;
	}
	c->unwaited += r->is_durable;
	requests_add(&c->asked, r);
}

static void
settle_unsure(struct connection *c, bool is_sure, uint64_t now_ns)
{
	struct requests settled = c->unsure;
	struct request *r;

	if (!settled.first)
		return;
	requests_init(&c->unsure);
	while ((r = requests_take(&settled))) {
		struct store_value *v = r->value;

		r->value = NULL;
		if (!is_sure) {
			store_value_free(v);
			v = NULL;
		}
		give(c, r, v, now_ns);
	}
}

/* All that stands before it in the stream is on so many replicas. */
static void
take_wait(struct connection *c, struct request *r, struct store_value *v, uint64_t now_ns)
{
	bool is_sure = store_integer(v, 0) >= 1, is_alone = v && !is_sure;

	if (is_alone && c->options->lends_without_replica) {
		c->alone_until_ns = now_ns + ALONE;
		report(c, true,
		       "no replica confirms what a strict limit asks: it is lent all the same");
		is_sure = true;
	} else if (is_alone) {
		report(c, true,
		       "no replica confirms what a strict limit asks: nothing is lent by it");
	} else if (is_sure) {
		report(c, false, "a replica confirms what strict limits ask");
	}
	store_value_free(v);
	request_free(r);
	settle_unsure(c, is_sure, now_ns);
}

void
connection_wait(struct connection *c, uint64_t now_ns)
{
	char ms[24];
	const char *argv[] = {"WAIT", "1", ms};

	if (c->unwaited == 0)
		return;
	c->unwaited = 0;
	if (now_ns < c->alone_until_ns)
		return;
	snprintf(ms, sizeof ms, "%llu",
	         (unsigned long long)(c->options->timeout_ns / RL_MILLISECOND / 2 + 1));
	say(c, take_wait, "it refuses WAIT", 3, argv, now_ns);
}

/* False: it is no message, but an answer. */
static bool
take_message(struct connection *c, struct store_value *v)
{
	const struct store_value *text = store_item(v, 2);

	if (!c->channel || v->type != STORE_ARRAY || v->count != 3 ||
	    strcmp(store_text(store_item(v, 0)), "message") != 0)
		return false;
	c->options->hear(c->options->hear_arg, store_text(text), text->size);
	store_value_free(v);
	return true;
}

/* Returns -1 where the connection is to be closed. */
static int
take_answer(struct connection *c, struct store_value *v, uint64_t now_ns)
{
	struct request *r = requests_take(&c->asked);

	if (!r) {
		store_value_free(v);
		snprintf(c->stream.why, sizeof c->stream.why, "it answers what was not asked");
		return -1;
	}
	c->heard_ns = now_ns;
	store_times_add(&c->times, now_ns - r->asked_ns);
	if (r->take)
		c->rtt_ns = c->rtt_ns ? (c->rtt_ns * 15 + (now_ns - r->asked_ns)) / 16
		                      : now_ns - r->asked_ns;
	else
		c->given_up--;
	if (r->is_durable && r->take && v->type != STORE_ERROR && now_ns >= c->alone_until_ns) {
		r->value = v;
		requests_add(&c->unsure, r);
	} else {
		give(c, r, v, now_ns);
	}
	return c->stream.phase == STREAM_OPEN ? 0 : -1;
}

static int
take_answers(struct connection *c, uint64_t now_ns)
{
	struct store_value *v;
	int got;

	while ((got = protocol_next(c->protocol, &v)) > 0)
		if (!take_message(c, v) && take_answer(c, v, now_ns) < 0)
			return -1;
	if (got < 0)
		snprintf(c->stream.why, sizeof c->stream.why,
		         "it does not keep to the protocol: %s", protocol_error(c->protocol));
	return got;
}

static int
read_answers(struct connection *c, uint64_t now_ns)
{
	char bytes[16384];
	size_t total = 0;
	ssize_t n;

	while (total < READ_MAX && (n = stream_read(&c->stream, bytes, sizeof bytes)) != 0) {
		if (n < 0 || protocol_feed(c->protocol, bytes, (size_t)n) < 0 ||
		    take_answers(c, now_ns) < 0)
			return -1;
		total += (size_t)n;
	}
	return 0;
}

/*
 * Those that are overdue are first, for all wait as long; one that was sent on was asked earlier.
 */
static void
give_overdue_up(struct connection *c, uint64_t now_ns)
{
	for (struct request *r = c->asked.first; r && r->due_ns <= now_ns; r = r->next) {
		struct request *copy;
		request_take *take = r->take;

		if (!take)
			continue;
		/* Its place in the order stays, for the answer that may come. */
		copy = request_new(r->bytes, r->size, take, r->owner);
		if (!copy)
			return;
		r->bytes = NULL;
		r->take = NULL;
		c->given_up++;
		copy->arg = r->arg;
		copy->slot = r->slot;
		take(c, copy, NULL, now_ns);
	}
}

static uint64_t
silent_ns(const struct connection *c)
{
	uint64_t ns = c->options->timeout_ns * CONNECTION_SILENT;

	return c->is_ready || ns > CONNECT_MIN ? ns : CONNECT_MIN;
}

static bool
is_silent(const struct connection *c, uint64_t now_ns)
{
	return (c->asked.count > 0 || !c->is_ready) && now_ns - c->heard_ns > silent_ns(c);
}

static void
advance(struct connection *c, uint64_t now_ns)
{
	enum stream_phase before = c->stream.phase;

	if (stream_run(&c->stream) < 0) {
		fail(c, c->stream.why, now_ns);
		return;
	}
	if (before != STREAM_OPEN && c->stream.phase == STREAM_OPEN)
		hello(c, now_ns);
	if (c->stream.phase == STREAM_OPEN && read_answers(c, now_ns) < 0) {
		fail(c, c->stream.why, now_ns);
		return;
	}
	if (c->is_ready)
		give_overdue_up(c, now_ns);
	if (is_silent(c, now_ns))
		fail(c, "it does not answer", now_ns);
	else if (c->stream.phase == STREAM_OPEN && stream_run(&c->stream) < 0)
		fail(c, c->stream.why, now_ns);
}

static uint64_t
due(const struct connection *c, uint64_t now_ns)
{
	if (c->stream.phase == STREAM_CLOSED)
		return c->is_wanted ? c->retry_ns : UINT64_MAX;
	if (c->stream.phase == STREAM_LOOKUP)
		return now_ns + 10 * RL_MILLISECOND;
	if (c->is_ready && c->asked.count == 0)
		return UINT64_MAX;
	if (c->asked.first && c->asked.first->take)
		return c->asked.first->due_ns;
	return c->heard_ns + silent_ns(c);
}

uint64_t
connection_run(struct connection *c, uint64_t now_ns)
{
	if (c->stream.phase == STREAM_CLOSED && c->is_wanted && now_ns >= c->retry_ns)
		open_up(c, now_ns);
	if (c->stream.phase != STREAM_CLOSED)
		advance(c, now_ns);
	return due(c, now_ns);
}
