/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster secret: which one is in use, who has the next one, and what is to be done now. */

#include <cluster/script.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/command.h"
#include "base/output.h"
#include "cluster/client.h"
#include "cluster/reseal.h"
#include "cluster/said.h"

#define PATIENCE_MS 15000 /* a host looks each second, and a busy one may be late */
#define PAUSE_MS 100

enum step {
	MAKE,   /* there is no next one */
	GIVE,   /* some host lacks it */
	SWITCH, /* all have it */
	WAIT,   /* some host does not use it as yet */
	KEEP,   /* all use it */
	FREE,   /* another one is in use, and by no host */
	OTHERS, /* and by hosts */
	OLDER   /* by hosts of an earlier build */
};

static const struct {
	const char *name, *text; /* text: with the file's path, twice at most */
} steps[] = {
	[MAKE] = {"make", "make the next secret, and give it to all hosts beside the one in use:\n"
                          "  head -c 32 /dev/urandom >%s.next && chmod 600 %s.next"},
	[GIVE] = {"give", "give %s.next to the hosts that lack it; they look each second"},
	[SWITCH] = {"switch", "all hosts have the next secret: rlctl cluster secret --switch"},
	[WAIT] = {"wait", "wait until all hosts use it; what has to be seen to is in their logs"},
	[KEEP] = {"keep", "all hosts use the next secret; on each of them:\n  mv %s.next %s"},
	[FREE] = {"free",
                  "another secret is in use, by no host that has not this one: 'rlctl cluster "
                  "secret --switch' puts this host's in its place"},
	[OTHERS] = {"others", "the hosts above use another secret: give this host theirs, as %s"},
	[OLDER] = {"older", "the hosts above are of an older version, whose questions have another "
                            "form: upgrade or end all of them, then 'rlctl cluster secret "
                            "--switch'"},
};

struct look {
	struct client *c;
	const struct secret *to;  /* that is to be used; NULL: there is no next one */
	char check[SECRET_CHECK]; /* that stands in the store */
	json_t *hosts;
	uint64_t count, using_it, having_it, older; /* it: `to` */
};

/* ---- who has which ---- */

static const struct secret *
of_file(const struct client *c)
{
	return c->is_next ? &c->other : &c->secret;
}

static const struct secret *
of_next(const struct client *c)
{
	return c->is_next ? &c->secret : &c->other;
}

/* The next one; this host's own, where the store has one that is neither. */
static const struct secret *
find_aim(const struct client *c)
{
	bool is_ours =
		c->is_next || c->check[0] == '\0' || strcmp(c->check, of_file(c)->check) == 0;

	if (!is_ours)
		return of_file(c);
	return of_next(c)->check[0] ? of_next(c) : NULL;
}

static bool
is_short_of(const char *said, const struct secret *s)
{
	return s && strncmp(said, s->check, SECRET_SHORT - 1) == 0;
}

static void
take_host(struct look *l, const char *id, const struct said *s)
{
	bool uses = is_short_of(s->secret, l->to), has = uses || is_short_of(s->other, l->to);
	bool is_older = s->secret[0] == '\0';
	json_t *host = need(json_object());

	l->count++;
	l->using_it += uses;
	l->having_it += has;
	l->older += is_older;
	json_put(host, "id", json_text(id));
	json_put(host, "host", json_text(s->host));
	json_put(host, "segment", json_text(s->segment));
	json_put(host, "state",
	         json_text(is_older ? "older"
	                   : !l->to ? "-"
	                   : uses   ? "uses the next"
	                   : has    ? "has the next"
	                            : "lacks the next"));
	json_push(l->hosts, host);
}

static void
take_hosts(void *arg, const struct store_value *v)
{
	struct look *l = arg;

	l->count = l->using_it = l->having_it = l->older = 0;
	json_array_clear(l->hosts);
	for (size_t i = 0; i + 1 < v->count; i += 2) {
		struct said s;

		if (said_read(store_text(v->items[i + 1]), &s))
			take_host(l, store_text(v->items[i]), &s);
	}
}

/* Those that are gone are taken off the list before. */
static bool
look_at_hosts(struct look *l)
{
	const char *clean[] = {
		"EVAL", script_announce, "2", SCRIPT_HOSTS, SCRIPT_CHECK, "", l->check, "0", ""};
	const char *argv[] = {"HGETALL", SCRIPT_HOSTS};

	return client_ask(l->c, SCRIPT_HOSTS, 9, clean, NULL, NULL) &&
	       client_ask(l->c, SCRIPT_HOSTS, 2, argv, take_hosts, l);
}

static enum step
step_of(const struct look *l)
{
	if (!l->to)
		return MAKE;
	if (strcmp(l->check, l->to->check) == 0)
		return l->using_it == l->count ? KEEP : WAIT;
	if (l->older > 0)
		return OLDER;
	if (l->to == of_file(l->c))
		return l->count > l->having_it ? OTHERS : FREE;
	return l->having_it == l->count ? SWITCH : GIVE;
}

/* ---- the switch ---- */

static bool
put_into_use(struct look *l)
{
	const char *argv[] = {"EVAL", script_switch, "1", SCRIPT_CHECK, l->check, l->to->check};

	if (!client_ask(l->c, SCRIPT_CHECK, 6, argv, NULL, NULL))
		return false;
	snprintf(l->check, sizeof l->check, "%s", l->to->check);
	return true;
}

static bool
wait_for_hosts(struct look *l)
{
	struct timespec pause = {0, PAUSE_MS * 1000000};

	for (int waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
		if (!look_at_hosts(l))
			return false;
		if (step_of(l) == KEEP)
			break;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Also where that was done before: what was left then is done now. */
static bool
change(struct look *l)
{
	enum step step = step_of(l);
	const struct secret *before = l->to == of_next(l->c) ? of_file(l->c) : NULL;

	if (step == SWITCH || step == FREE) {
		if (!put_into_use(l))
			return false;
	} else if (step != WAIT && step != KEEP) {
		complain("cluster secret: the next one cannot be used as yet");
		return true;
	}
	return wait_for_hosts(l) &&
	       (step_of(l) != KEEP || !before || reseal_orders(l->c, before, l->to));
}

/* ---- what is said ---- */

static void
print(const struct look *l, enum step step)
{
	const char *path = l->c->config->cluster.secret_file;
	json_t *host;
	size_t i;

	printf("%-12s %-24s %-20s %s\n", "ID", "HOST", "SEGMENT", "SECRET");
	json_array_foreach(l->hosts, i, host)
		printf("%-12s %-24s %-20s %s\n", json_string_value(json_object_get(host, "id")),
	               json_string_value(json_object_get(host, "host")),
	               json_string_value(json_object_get(host, "segment")),
	               json_string_value(json_object_get(host, "state")));
	for (const char *at = steps[step].text; *at; at++)
		if (at[0] == '%' && at[1] == 's') {
			fputs(path, stdout);
			at++;
		} else {
			putchar(*at);
		}
	putchar('\n');
}

static int
report(const struct look *l, bool is_json)
{
	enum step step = step_of(l);
	json_t *document;

	if (is_json) {
		document = need(json_object());
		json_put(document, "step", json_text(steps[step].name));
		json_put(document, "hosts", json_incref(l->hosts));
		output_json(document);
	} else {
		print(l, step);
	}
	return step == MAKE || step == SWITCH || step == KEEP ? EXIT_YES : EXIT_NO;
}

int
cluster_secret(const struct context *context)
{
	bool is_change = option_value(context, "switch") != NULL;
	struct client c;
	struct look l = {.c = &c};
	int status;

	if (!client_open_any(&c, context, &status))
		return status;
	l.to = find_aim(&c);
	l.hosts = need(json_array());
	snprintf(l.check, sizeof l.check, "%s", c.check);
	status = EXIT_TROUBLE;
	if (look_at_hosts(&l) && (!is_change || change(&l)))
		status = report(&l, option_value(context, "json") != NULL);
	json_decref(l.hosts);
	client_close(&c);
	return status;
}
