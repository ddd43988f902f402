/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "script.h"
#include "text/error_text.h"

#define ANNOUNCE_LIFE HOSTS_LIFE_NS
#define ANNOUNCE_RETRY RL_SECOND
#define BEAT RL_SECOND /* half of what an absence is told after */

static void
report(struct cluster *c, bool is_trouble, const char *text)
{
	c->options.report(c->options.report_arg, is_trouble, text);
}

/* ---- the store ---- */

static void
hear(struct cluster *c, uint64_t now_ns)
{
	char text[120];

	c->heard_ns = now_ns;
	if (c->shares.is_allowed)
		c->shares.answered_ns = rl_now(c->shares.rl);
	if (c->away_since_ns == 0)
		return;
	rl_cluster_report(c->shares.rl, RL_EVENT_STORE_BACK, RL_ANY_RULE, NULL,
	                  now_ns - c->away_since_ns, 0);
	snprintf(text, sizeof text, "cluster: the store answers again, after %" PRIu64 " s",
	         (now_ns - c->away_since_ns) / RL_SECOND);
	c->away_since_ns = 0;
	report(c, false, text);
}

static void
look_whether_away(struct cluster *c, uint64_t now_ns)
{
	if (c->away_since_ns != 0 || now_ns - c->heard_ns < CLUSTER_AWAY_NS)
		return;
	c->away_since_ns = c->heard_ns;
	rl_cluster_report(c->shares.rl, RL_EVENT_STORE_AWAY, RL_ANY_RULE, NULL, 0, 0);
	report(c, true,
	       "cluster: the store does not answer; what is lent stays in use until its lease "
	       "ends, "
	       "then each limit goes on as its 'away' says, until the store answers again");
}

/* ---- secrets ---- */

/* The same is told once. */
static void
report_of_file(struct cluster *c, const char *why)
{
	char text[360];

	if (strcmp(c->file_trouble, why) == 0)
		return;
	snprintf(c->file_trouble, sizeof c->file_trouble, "%s", why);
	snprintf(text, sizeof text, "cluster: %s", why[0] ? why : "both secrets can be read again");
	report(c, why[0] != '\0', text);
}

/* The one in use stays what it is, whatever becomes of its file. */
static void
look_at_files(struct cluster *c)
{
	struct secret of_file[2] = {0};
	const char *path = c->options.secret_file;
	char why[320] = "", before[SECRET_CHECK];

	memcpy(before, c->other.check, sizeof before);
	secret_read(&of_file[0], path, why, sizeof why);
	secret_read_next(&of_file[1], path, why, sizeof why);
	report_of_file(c, why);
	explicit_bzero(&c->other, sizeof c->other);
	for (int i = 0; i < 2; i++)
		if (strcmp(of_file[i].check, c->secret.check) != 0 && of_file[i].check[0])
			c->other = of_file[i];
	explicit_bzero(of_file, sizeof of_file);
	if (strcmp(before, c->other.check) != 0)
		c->announce_ns = 0;
}

/* Nothing of it is known here under the new one: what is in use is asked for anew. */
static void
change_secret(struct cluster *c)
{
	struct secret before = c->secret;
	int error = host_shares_change_secret(&c->shares, c->other.bytes);

	if (error == 0) {
		c->secret = c->other;
		c->other = before;
		c->announce_ns = 0;
		report(c, false, "cluster: another secret is in use from now on: the next one");
	}
	explicit_bzero(&before, sizeof before);
}

static const char *
why_foreign(const char *check)
{
	if (strncmp(check, SECRET_FORM, strlen(SECRET_FORM)) != 0)
		return "cluster: the store is in use by hosts of another version, whose questions "
		       "have another form: nothing is asked of it. docs/CLUSTER.md says how to go "
		       "over";
	return "cluster: the store is in use with another secret: nothing is asked of it. Give "
	       "all hosts the same secret file, or this cluster another store";
}

static void
be_foreign(struct cluster *c, const char *check)
{
	look_at_files(c);
	if (check[0] && strcmp(check, c->other.check) == 0) {
		change_secret(c);
		return;
	}
	if (!c->is_foreign)
		report(c, true, why_foreign(check));
	c->is_foreign = true;
	c->shares.is_allowed = false;
}

/* A check that is gone, or is another's, is seen to at once. */
static void
take_beat(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct cluster *c = arg;

	(void)label;
	if (!v)
		return;
	hear(c, now_ns);
	if (strcmp(store_text(v), c->secret.check) != 0 && c->shares.is_allowed)
		c->announce_ns = 0;
}

/*
 * Tells a store that is idle, as nobody wishes for anything, from one that is away; and that its
 * secret is another now.
 */
static void
beat(struct cluster *c, uint64_t now_ns)
{
	static const char *const argv[] = {"GET", SCRIPT_CHECK};
	const struct store_question q = {.key = SCRIPT_CHECK,
	                                 .key_size = strlen(SCRIPT_CHECK),
	                                 .argc = 2,
	                                 .argv = argv,
	                                 .answer = take_beat,
	                                 .arg = c};

	if (now_ns < c->beat_ns)
		return;
	look_at_files(c);
	c->beat_ns = now_ns + (now_ns - c->heard_ns < BEAT ? BEAT : BEAT / 2);
	store_ask(c->store, &q, now_ns);
}

static void
be_allowed(struct cluster *c, uint64_t hosts, uint64_t now_ns)
{
	uint64_t most;

	if (c->is_foreign)
		report(c, false, "cluster: the store is in use with this secret now");
	c->is_foreign = false;
	c->shares.is_allowed = true;
	if (hosts == 0)
		return;
	c->hosts = c->shares.hosts = hosts;
	most = hosts_most(&c->most, hosts, now_ns);
	rl_cluster_hosts(c->shares.rl, most < UINT32_MAX ? (uint32_t)most : UINT32_MAX);
}

static void
report_of_host(void *arg, bool has_joined, const char *host)
{
	struct cluster *c = arg;

	rl_cluster_report(c->shares.rl, has_joined ? RL_EVENT_HOST_JOINED : RL_EVENT_HOST_GONE,
	                  RL_ANY_RULE, host, 0, 0);
}

/* It is announced: at once for the first time. What an answer took is within it. */
static void
compare_clocks(struct cluster *c, int64_t store_ms)
{
	if (!c->has_skew)
		c->announce_ns = 0;
	c->skew_ms = (int64_t)(rl_now(c->shares.rl) / RL_MILLISECOND) - store_ms;
	c->has_skew = true;
}

static void
take_hosts(struct cluster *c, const struct store_value *v, uint64_t now_ns)
{
	be_allowed(c, (uint64_t)store_integer(store_item(v, 0), 0), now_ns);
	compare_clocks(c, store_integer(store_item(v, 1), 0));
	hosts_take(&c->who, v, 2, report_of_host, c);
}

static void
take_announced(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct cluster *c = arg;

	(void)label;
	if (!v) {
		c->announce_ns = now_ns + ANNOUNCE_RETRY;
		return;
	}
	hear(c, now_ns);
	if (store_is_error(v, "RLSECRET"))
		be_foreign(c, v->text + strcspn(v->text, " ") + (strchr(v->text, ' ') != NULL));
	else if (v->type == STORE_ARRAY)
		take_hosts(c, v, now_ns);
	else
		report(c, true, "cluster: the store does not understand what it is asked");
}

/* Its state of the rules and orders for all is announced at once. */
static void
notice(struct cluster *c)
{
	uint64_t now = c->rules.version * 2 + c->rules.is_good;

	if (now == c->reported_rules && c->orders.number == c->reported_order)
		return;
	c->reported_rules = now;
	c->reported_order = c->orders.number;
	c->announce_ns = 0;
}

static void
announce(struct cluster *c, uint64_t now_ns)
{
	char about[CLUSTER_TEXT + 128], life[24];
	const char *argv[] = {"EVALSHA",
	                      store_script(c->store, SCRIPT_ANNOUNCE),
	                      "2",
	                      SCRIPT_HOSTS,
	                      SCRIPT_CHECK,
	                      c->identity.text,
	                      c->secret.check,
	                      life,
	                      about};
	const struct store_question q = {.key = SCRIPT_HOSTS,
	                                 .key_size = strlen(SCRIPT_HOSTS),
	                                 .argc = 9,
	                                 .argv = argv,
	                                 .answer = take_announced,
	                                 .arg = c};

	if (now_ns < c->announce_ns)
		return;
	snprintf(about, sizeof about, "%s %" PRIu64 " %s %" PRIu64 " %" PRId64 " %.10s %.10s",
	         c->about, c->rules.version,
	         c->rules.version == 0 ? "own"
	         : c->rules.is_good    ? "good"
	                               : "refused",
	         c->orders.number, c->skew_ms, c->secret.check,
	         c->other.check[0] ? c->other.check : "-");
	snprintf(life, sizeof life, "%" PRIu64, (uint64_t)(ANNOUNCE_LIFE / RL_MILLISECOND));
	c->announce_ns = now_ns + (c->shares.is_allowed ? ANNOUNCE_LIFE / 3 : ANNOUNCE_RETRY);
	if (store_ask(c->store, &q, now_ns) < 0)
		c->announce_ns = now_ns + ANNOUNCE_RETRY / 10;
}

uint64_t
cluster_run(struct cluster *c, uint64_t now_ns)
{
	uint64_t answers = c->shares.counts.answers, due_ns, next_ns;

	notice(c);
	announce(c, now_ns);
	beat(c, now_ns);
	if (c->shares.is_allowed) {
		rules_run(&c->rules, now_ns, c->shares.random);
		auto_blind_run(&c->auto_blind, now_ns);
		orders_run(&c->orders, now_ns, c->shares.random >> 32);
	}
	due_ns = host_shares_run(&c->shares, now_ns);
	next_ns = store_run(c->store, now_ns);
	if (c->shares.counts.answers != answers)
		hear(c, now_ns);
	look_whether_away(c, now_ns);
	return next_ns < due_ns ? next_ns : due_ns;
}

int
cluster_fd(const struct cluster *c)
{
	return store_fd(c->store);
}

/* ---- begin and end ---- */

static bool
read_files(struct cluster *c, char *why, size_t size)
{
	const struct cluster_options *o = &c->options;

	return secret_read(&c->secret, o->secret_file, why, size) &&
	       (!o->password_file ||
	        secret_read_line(c->password, sizeof c->password, o->password_file, why, size));
}

/* "c" or "r", the 32 hex digits of a key's hash, and who has asked: this one hears itself. */
static void
hear_call(void *arg, const char *text, size_t size)
{
	struct cluster *c = arg;
	size_t own = strlen(c->identity.text);
	uint64_t hash[2];

	if (size <= 33 || strlen(text) != size || (text[0] != 'c' && text[0] != 'r') ||
	    sscanf(text + 1, "%16" SCNx64 "%16" SCNx64, &hash[0], &hash[1]) != 2)
		return;
	if (strncmp(text + 33, c->identity.text, own) != 0 || text[33 + own] != '.')
		host_shares_hear(&c->shares, hash, text[0] == 'r');
}

static bool
open_store(struct cluster *c, uint64_t random, char *why, size_t size)
{
	const struct store_options o = {
		.nodes = c->options.nodes,
		.node_count = c->options.node_count,
		.sentinel = c->options.sentinel,
		.epoch_key = SCRIPT_EPOCH,
		.lends_without_replica = c->options.lends_without_replica,
		.user = c->options.user,
		.password = c->options.password_file ? c->password : NULL,
		.name = c->name,
		.tls = c->options.tls,
		.timeout_ns = c->options.timeout_ns,
		.scripts = {[SCRIPT_TAKE] = script_take,
	                    [SCRIPT_ANNOUNCE] = script_announce,
	                    [SCRIPT_READ_ORDERS] = script_read_orders,
	                    [SCRIPT_BLIND] = script_blind},
		.channel = SCRIPT_CHANNEL,
		.hear = hear_call,
		.hear_arg = c,
		.report = c->options.report,
		.report_arg = c->options.report_arg,
	};

	c->store = store_open(&o, random, why, size);
	return c->store != NULL;
}

static void
name_host(struct cluster *c, const char *segment)
{
	char host[65] = "";

	gethostname(host, sizeof host - 1);
	for (char *at = host; *at; at++) /* CLIENT SETNAME takes no spaces */
		if (*at <= ' ' || *at > '~')
			*at = '_';
	snprintf(c->name, sizeof c->name, "rld-%s", host);
	snprintf(c->about, sizeof c->about, "%s %s " RL_VERSION, host, segment);
}

static bool
start(struct cluster *c, struct rl *rl, const char *segment, uint64_t now_ns, char *why,
      size_t size)
{
	struct rl_cluster_info before = {0};
	struct rl_info info;
	int error;

	rl_info(rl, &info);
	name_host(c, segment);
	if (!read_files(c, why, size) || !open_store(c, now_ns, why, size) ||
	    !identity_open(&c->identity, c->options.state, segment, info.created_ns, why, size))
		return false;
	c->shares = (struct host_shares){
		.rl = rl,
		.store = c->store,
		.identity = &c->identity,
		.report = c->options.report,
		.report_arg = c->options.report_arg,
		.lease_ns = c->options.lease_ns,
		.timeout_ns = c->options.timeout_ns,
	};
	rl_cluster_info(rl, &before);
	c->most = (struct hosts_most){before.hosts, now_ns};
	c->auto_blind = (struct auto_blind){.rl = rl, .store = c->store, .identity = &c->identity};
	c->rules = (struct rules){
		.store = c->store,
		.report = c->options.report,
		.report_arg = c->options.report_arg,
		.take = c->options.take_rules,
		.take_arg = c->options.take_arg,
	};
	c->orders = (struct orders){
		.rl = rl,
		.store = c->store,
		.shares = &c->shares,
		.secret = &c->secret,
		.other = &c->other,
		.report = c->options.report,
		.report_arg = c->options.report_arg,
	};
	orders_open(&c->orders, c->options.state, segment);
	if (c->options.take_rules &&
	    (!c->options.state || !rules_open(&c->rules, c->options.state, segment))) {
		snprintf(why, size, "shared rules need a directory to be kept in: --state");
		return false;
	}
	error = rl_cluster_secret(rl, c->secret.bytes);
	error = error < 0 ? error : host_shares_open(&c->shares, now_ns);
	if (error < 0)
		snprintf(why, size, "segment '%s': %s", segment, error_text(error).text);
	return error == 0;
}

struct cluster *
cluster_open(const struct cluster_options *options, struct rl *rl, const char *segment,
             uint64_t now_ns)
{
	struct cluster *c = calloc(1, sizeof *c);
	char why[320] = "no memory", text[360];

	if (c) {
		c->options = *options;
		c->heard_ns = now_ns;
		if (start(c, rl, segment, now_ns, why, sizeof why))
			return c;
	}
	snprintf(text, sizeof text, "cluster: %s", why);
	options->report(options->report_arg, true, text);
	cluster_close(c, now_ns);
	return NULL;
}

void
cluster_close(struct cluster *c, uint64_t now_ns)
{
	if (!c)
		return;
	store_close(c->store, now_ns);
	host_shares_close(&c->shares);
	hosts_free(&c->who);
	explicit_bzero(c->password, sizeof c->password);
	explicit_bzero(&c->secret, sizeof c->secret);
	explicit_bzero(&c->other, sizeof c->other);
	free(c);
}
