/* SPDX-License-Identifier: BSD-2-Clause */
/* Bans and exemptions: whom they match, which wins, when they end, what they count. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "testing.h"

/* Bans are kept against the segment's own clock, so these tests live on it. */

static struct rl_pattern
pattern(const char *text)
{
	return rl_pattern_of(text, strlen(text));
}

static int
ban(struct rl *rl, int rule, const char *text, uint64_t until)
{
	struct rl_pattern p = pattern(text);

	return rl_ban(rl, rule, &p, until);
}

static int
allow(struct rl *rl, int rule, const char *text, uint64_t until)
{
	struct rl_pattern p = pattern(text);

	return rl_allow(rl, rule, &p, until);
}

static int
unban(struct rl *rl, int rule, const char *text)
{
	struct rl_pattern p = pattern(text);

	return rl_unban(rl, rule, &p);
}

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, key, strlen(key), 1, now, r);
}

static void
test_a_ban_and_its_end(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	int other = test_rule(rl, "other", 5, RL_SECOND, 0, false);
	uint64_t now = rl_now(rl) / RL_SECOND * RL_SECOND, until = now + 600 * RL_SECOND;
	struct rl_result r;

	(void)state;
	assert_int_equal(check(rl, rule, "k", now, &r), RL_ALLOWED);
	assert_int_equal(ban(rl, rule, "k", until), 0);
	assert_int_equal(check(rl, rule, "k", now, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", now, &r),
	                 RL_DENIED); /* by what is kept of the rule */
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_true(r.retry_after_ns == 600 * RL_SECOND);
	assert_int_equal(r.remaining, 0);
	assert_int_equal(r.error, 0);
	assert_int_equal(check(rl, rule, "k2", now, &r), RL_ALLOWED);
	assert_int_equal(check(rl, other, "k", now, &r), RL_ALLOWED);
	/* exact at its end, which needs nobody */
	assert_int_equal(check(rl, rule, "k", until - 1, &r), RL_DENIED);
	assert_true(r.retry_after_ns == 1);
	assert_int_equal(check(rl, rule, "k", until, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_banned), 3);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 3);
	/* parts of a millisecond round up */
	assert_int_equal(ban(rl, rule, "k", until + 1), 0);
	assert_int_equal(check(rl, rule, "k", until + RL_MILLISECOND - 1, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", until + RL_MILLISECOND, &r), RL_ALLOWED);
	/* lifted */
	assert_int_equal(unban(rl, rule, "k"), 1);
	assert_int_equal(unban(rl, rule, "k"), 0);
	assert_int_equal(unban(rl, other, "k"), 0);
	assert_int_equal(check(rl, rule, "k", now, &r), RL_ALLOWED);
	/* without an end, and even under a shadow rule */
	assert_int_equal(ban(rl, rule, "k", RL_NEVER_NS), 0);
	assert_int_equal(check(rl, rule, "k", UINT64_MAX, &r), RL_DENIED);
	assert_true(r.retry_after_ns == RL_NEVER_NS);
	int trial = rl_define(
		rl,
		&(struct rl_rule){.name = "trial",
	                          .limit = {.capacity = 1, .window_ns = RL_SECOND, .shadow = 1}});
	assert_int_equal(ban(rl, trial, "k", until), 0);
	for (int i = 0; i < 2; i++) /* the first reads what the second keeps */
		assert_int_equal(check(rl, trial, "k", now, &r), RL_DENIED);
	rl_close(rl);
}

/* Of bans that overlap, the first to end lets nobody through. */
static void
test_a_ban_behind_a_ban(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	uint64_t now = rl_now(rl) / RL_SECOND * RL_SECOND;
	struct rl_result r;

	(void)state;
	assert_int_equal(ban(rl, rule, "10.1.1.1", now + 60 * RL_SECOND), 0);
	assert_int_equal(ban(rl, RL_ANY_RULE, "10.0.0.0/8", now + 600 * RL_SECOND), 0);
	assert_int_equal(check(rl, rule, "10.1.1.1", now, &r), RL_DENIED);
	assert_true(r.retry_after_ns == 600 * RL_SECOND);
	/* an exemption between them does */
	assert_int_equal(allow(rl, rule, "10.1.0.0/16", now + 90 * RL_SECOND), 0);
	assert_int_equal(check(rl, rule, "10.1.1.1", now, &r), RL_DENIED);
	assert_true(r.retry_after_ns == 60 * RL_SECOND);
	assert_int_equal(check(rl, rule, "10.1.1.1", now + 60 * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(allow(rl, rule, "10.1.0.0/16", now + 50 * RL_SECOND), 0);
	assert_int_equal(ban(rl, rule, "10.0.0.0/8", RL_NEVER_NS), 0);
	assert_int_equal(check(rl, rule, "10.1.1.1", now, &r), RL_DENIED);
	assert_true(r.retry_after_ns == RL_NEVER_NS);
	rl_close(rl);
}

static void
test_an_exemption(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1, 60 * RL_SECOND, 0, false);
	uint64_t now = rl_now(rl), until = now + 600 * RL_SECOND;
	struct rl_charges c = {.count = 1};
	struct rl_result r;

	(void)state;
	assert_int_equal(allow(rl, rule, "k", until), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(test_check_at(rl, rule, "k", 1, 1, now, &r, &c), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_EXEMPTION);
		assert_int_equal(c.count, 0);
	}
	assert_int_equal(rl_fill(rl), 0); /* needs no counter */
	assert_int_equal(test_counter(rl, rule, RL_COUNT_exempted), 5);
	/* a second word on the same key replaces the first */
	assert_int_equal(ban(rl, rule, "k", until), 0);
	assert_int_equal(check(rl, rule, "k", now, &r), RL_DENIED);
	assert_int_equal(unban(rl, rule, "k"), 1);
	assert_int_equal(check(rl, rule, "k", now, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", now, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	rl_close(rl);
}

static void
test_which_one_wins(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1000, RL_SECOND, 0, false);
	uint64_t now = rl_now(rl), until = now + 600 * RL_SECOND;
	struct rl_result r;

	(void)state;
	assert_int_equal(ban(rl, rule, "user:*", until), 0);
	assert_int_equal(allow(rl, rule, "user:7*", until), 0);
	assert_int_equal(ban(rl, RL_ANY_RULE, "user:77", until), 0);
	assert_int_equal(check(rl, rule, "user:1", now, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "user", now, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(check(rl, rule, "user:", now, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "user:71", now, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_EXEMPTION);
	assert_int_equal(check(rl, rule, "user:77", now, &r),
	                 RL_DENIED); /* a key before a prefix */
	assert_int_equal(allow(rl, rule, "user:77", until), 0);
	assert_int_equal(check(rl, rule, "user:77", now, &r),
	                 RL_ALLOWED); /* the rule's before any's */
	rl_close(rl);
}

static void
test_networks(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1000, RL_SECOND, 0, false);
	int ip = rl_define(rl, &(struct rl_rule){.name = "ip",
	                                         .limit = {.capacity = 1000,
	                                                   .window_ns = RL_SECOND,
	                                                   .prefix_v4 = 32,
	                                                   .prefix_v6 = 64}});
	uint64_t now = rl_now(rl), until = now + 600 * RL_SECOND;
	struct rl_result r;

	(void)state;
	assert_int_equal(ban(rl, RL_ANY_RULE, "10.0.0.0/8", until), 0);
	assert_int_equal(allow(rl, RL_ANY_RULE, "10.1.0.0/16", until), 0);
	assert_int_equal(ban(rl, ip, "2001:db8::/32", until), 0);
	assert_int_equal(ban(rl, ip, "2001:db9::1/128", until), 0);
	for (int i = 0; i < 2; i++) {
		int each = i == 0 ? rule : ip;
		assert_int_equal(check(rl, each, "10.2.3.4", now, &r), RL_DENIED);
		assert_int_equal(check(rl, each, "::ffff:10.2.3.4", now, &r), RL_DENIED);
		assert_int_equal(check(rl, each, "10.1.3.4", now, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_EXEMPTION);
		assert_int_equal(check(rl, each, "11.2.3.4", now, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_LIMIT);
	}
	assert_int_equal(check(rl, rule, "10.2.3.4x", now, &r), RL_ALLOWED); /* no address */
	assert_int_equal(check(rl, ip, "2001:db8:ffff::7", now, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "2001:db8:ffff::7", now, &r), RL_ALLOWED);
	assert_int_equal(check(rl, ip, "2001:db9::1", now, &r), RL_DENIED);
	assert_int_equal(check(rl, ip, "2001:db9::2", now, &r), RL_ALLOWED);
	/* bits that end inside a byte */
	assert_int_equal(ban(rl, ip, "172.16.0.0/12", until), 0);
	assert_int_equal(check(rl, ip, "172.31.255.255", now, &r), RL_DENIED);
	assert_int_equal(check(rl, ip, "172.32.0.0", now, &r), RL_ALLOWED);
	/* everything, both ways to say it */
	assert_int_equal(ban(rl, ip, "::/0", until), 0);
	assert_int_equal(check(rl, ip, "2001:db9::2", now, &r), RL_DENIED);
	assert_int_equal(check(rl, ip, "11.2.3.4", now, &r), RL_ALLOWED);
	assert_int_equal(ban(rl, ip, "0.0.0.0/0", until), 0);
	assert_int_equal(check(rl, ip, "11.2.3.4", now, &r), RL_DENIED);
	assert_int_equal(unban(rl, ip, "::ffff:0.0.0.0/96"), 1); /* the same network */
	assert_int_equal(check(rl, ip, "11.2.3.4", now, &r), RL_ALLOWED);
	rl_close(rl);
}

static void
test_what_cannot_be_banned(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	char longer[65];
	struct rl_pattern p = {.match = RL_MATCH_NETWORK, .key = "10.0.0.0/33", .key_len = 11};

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), RL_EADDRESS);
	p = (struct rl_pattern){.match = RL_MATCH_KEY, .key = "", .key_len = 0};
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), -EINVAL);
	p = (struct rl_pattern){.match = (enum rl_match)3, .key = "k", .key_len = 1};
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), -EINVAL);
	memset(longer, 'x', sizeof longer);
	p = (struct rl_pattern){.match = RL_MATCH_PREFIX, .key = longer, .key_len = 64};
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), -EINVAL);
	p.key_len = 63;
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	assert_int_equal(rl_check(rl, rule, longer, 65, 1, NULL), RL_DENIED);
	assert_int_equal(rl_check(rl, rule, longer, 63, 1, NULL), RL_DENIED);
	assert_int_equal(rl_check(rl, rule, longer, 62, 1, NULL), RL_ALLOWED);
	assert_int_equal(ban(rl, rule + 1, "k", RL_NEVER_NS), -EINVAL);
	assert_int_equal(ban(rl, -2, "k", RL_NEVER_NS), -EINVAL);
	rl_close(rl);
}

/* Random patterns and keys: bans match exactly when rl_pattern_matches() says so. */
static void
test_bans_match_what_patterns_match(void **state)
{
	static const char *const texts[] = {"a",        "ab",         "ab*",          "a*",
	                                    "abc",      "10.0.0.0/8", "10.9.0.0/16",  "10.9.8.7",
	                                    "10.9.8.*", "::/0",       "2001:db8::/33"};
	static const char *const keys[] = {
		"a",        "ab",       "abc",     "b",   "10.9.8.7",    "10.9.1.1",
		"10.1.1.1", "11.1.1.1", "10.9.8.", "::1", "2001:db8::1", "2001:db8:8000::1"};
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct rl *rl = test_private(50);
		int rule = test_rule(rl, "r", 1000, RL_SECOND, 0, false);
		unsigned chosen = (unsigned)test_below(&seed, 1u << 11);
		uint64_t now = rl_now(rl);

		for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
			if (chosen >> i & 1)
				assert_int_equal(ban(rl, test_below(&seed, 2) ? rule : RL_ANY_RULE,
				                     texts[i], RL_NEVER_NS),
				                 0);
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
			bool is_banned = false;
			for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
				struct rl_pattern p = pattern(texts[i]);
				is_banned |= (chosen >> i & 1) &&
				             rl_pattern_matches(&p, keys[k], strlen(keys[k])) == 1;
			}
			assert_int_equal(check(rl, rule, keys[k], now, NULL),
			                 is_banned ? RL_DENIED : RL_ALLOWED);
		}
		rl_close(rl);
	}
}

static int
count_bans(const struct rl_ban_info *b, void *arg)
{
	char *text = arg;

	snprintf(text + strlen(text), 200 - strlen(text), "%d%c%d:%.*s ", b->rule,
	         b->is_exemption ? '+' : '-', (int)b->pattern.match, (int)b->pattern.key_len,
	         (const char *)b->pattern.key);
	return 0;
}

static void
test_the_list(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	uint64_t now = rl_now(rl);
	char text[200] = "";

	(void)state;
	ban(rl, rule, "k*", now + RL_SECOND);
	rl_bans_walk(rl, now, count_bans, text);
	assert_string_equal(text, "0-1:k ");
	unban(rl, rule, "k*");
	allow(rl, RL_ANY_RULE, "10.0.0.0/8", now + RL_SECOND);
	text[0] = '\0';
	rl_bans_walk(rl, now, count_bans, text);
	assert_string_equal(text, "-1+2:10.0.0.0/8 ");
	text[0] = '\0';
	rl_bans_walk(rl, now + 2 * RL_SECOND, count_bans, text);
	assert_string_equal(text, "");
	rl_close(rl);
}

/* As many as there is room for and some; what is over makes room; none is lost meanwhile. */
static void
test_full(void **state)
{
	struct rl *rl;
	char key[16];
	int stands = 0, refused = 0;

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 10, .bans = 50}, &rl), 0);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	uint64_t now = rl_now(rl);
	for (int i = 0; i < 120; i++) {
		snprintf(key, sizeof key, "k%d", i);
		int error = ban(rl, rule, key, now + 3600 * RL_SECOND);
		assert_true(error == 0 || error == RL_EBANS);
		stands += error == 0;
		refused += error != 0;
		assert_int_equal(check(rl, rule, key, now, NULL),
		                 error == 0 ? RL_DENIED : RL_ALLOWED);
	}
	assert_true(stands >= 50);
	assert_true(refused > 0);
	for (int i = 0; i < 120; i++) {
		snprintf(key, sizeof key, "k%d", i);
		stands -= unban(rl, rule, key);
	}
	assert_int_equal(stands, 0);
	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof key, "new%d", i);
		assert_int_equal(ban(rl, rule, key, now + 3600 * RL_SECOND), 0);
	}
	rl_close(rl);
}

static int
is_banned_in_child(void *arg, int i)
{
	int *pipes = arg;
	struct rl *rl;
	char byte;

	(void)i;
	if (rl_open(test_segment_name(), NULL, &rl) < 0)
		return 1;
	if (rl_check(rl, rl_find(rl, "r"), "k", 1, 1, NULL) != RL_ALLOWED)
		return 2;
	if (write(pipes[1], "", 1) != 1 || read(pipes[2], &byte, 1) != 1)
		return 3;
	return rl_check(rl, rl_find(rl, "r"), "k", 1, 1, NULL) == RL_DENIED ? 0 : 4;
}

/* In a process that has the segment open already, the next decision knows. */
static void
test_another_process_knows_at_once(void **state)
{
	int there[2], back[2], pipes[3], status;
	struct rl *rl;
	char byte;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	int rule = test_rule(rl, "r", 100, RL_SECOND, 0, false);
	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	pipes[1] = there[1];
	pipes[2] = back[0];
	pid_t pid = fork();
	if (pid == 0)
		_exit(is_banned_in_child(pipes, 0));
	assert_int_equal(read(there[0], &byte, 1), 1);
	assert_int_equal(ban(rl, rule, "k", RL_NEVER_NS), 0);
	assert_int_equal(write(back[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rl_close(rl);
	rl_unlink(test_segment_name());
}

/* Under this rule alone, and as long as it stands. */
static void
test_what_stands_for_a_pattern(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 100, RL_SECOND, 0, false);
	const struct rl_pattern net = rl_pattern_of("10.0.0.0/24", 11);
	const struct rl_pattern same = rl_pattern_of("10.0.0.7/24", 11);
	const struct rl_pattern none = {RL_MATCH_NETWORK, "10.0.0.0/33", 11};
	uint64_t until = (rl_now(rl) / RL_SECOND + 60) * RL_SECOND;
	struct rl_ban_info info;

	(void)state;
	assert_int_equal(rl_allow(rl, rule, &net, until), 0);
	assert_int_equal(rl_ban_info(rl, RL_ANY_RULE, &net, rl_now(rl), &info), 0);
	assert_int_equal(rl_ban_info(rl, rule, &same, until - 1, &info), 1);
	assert_true(info.rule == rule && info.is_exemption && info.until_ns == until);
	assert_ptr_equal(info.pattern.key, same.key);
	assert_int_equal(info.key_len, 11);
	assert_int_equal(rl_ban_info(rl, rule, &net, until, &info), 0);
	assert_int_equal(rl_ban_info(rl, rule, &none, until, &info), RL_EADDRESS);
	assert_int_equal(rl_ban_info(rl, rule + 1, &net, until, &info), -EINVAL);
	assert_int_equal(rl_ban(rl, rule, &same, RL_NEVER_NS), 0);
	assert_int_equal(rl_ban_info(rl, rule, &net, until, &info), 1);
	assert_true(!info.is_exemption && info.until_ns == RL_NEVER_NS);
	rl_close(rl);
}

static int
keep_reason(const struct rl_ban_info *ban, void *arg)
{
	memcpy(arg, ban->reason, sizeof ban->reason);
	return ban->is_exemption ? 2 : 1;
}

static void
set_for(struct rl *rl, int rule, const char *pattern, const char *reason, bool is_exemption)
{
	struct rl_ban_info ban = {.rule = rule,
	                          .is_exemption = is_exemption,
	                          .pattern = rl_pattern_of(pattern, strlen(pattern)),
	                          .until_ns = RL_NEVER_NS,
	                          .reason_len = strlen(reason)};

	strcpy(ban.reason, reason);
	assert_int_equal(rl_ban_set(rl, &ban), 0);
}

/* The one by which a key is banned is told, of several that match it. */
static void
test_which_one_answers(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule configured = test_config_rule("r", 5, RL_SECOND);
	struct rl_override override = {.pattern = rl_pattern_of("172.16.0.1", 10),
	                               .kind = RL_OVERRIDE_BANNED};
	char reason[RL_REASON_MAX + 1] = "";
	int rule;

	(void)state;
	configured.overrides = &override;
	configured.override_count = 1;
	assert_int_equal(rl_configure(rl, &configured, 1, 0, NULL, NULL), 0);
	rule = rl_find(rl, "r");
	set_for(rl, RL_ANY_RULE, "192.0.2.0/24", "net", false);
	set_for(rl, rule, "10.0.0.0/8", "wide", false);
	set_for(rl, RL_ANY_RULE, "10.1.0.0/16", "close", true);
	set_for(rl, rule, "10.1.2.3", "key", false);
	assert_int_equal(rl_ban_of(rl, rule, "10.2.0.0", 8, rl_now(rl), keep_reason, reason), 1);
	assert_string_equal(reason, "wide");
	assert_int_equal(rl_ban_of(rl, rule, "10.1.0.0", 8, rl_now(rl), keep_reason, reason), 2);
	assert_string_equal(reason, "close");
	assert_int_equal(rl_ban_of(rl, rule, "10.1.2.3", 8, rl_now(rl), keep_reason, reason), 1);
	assert_string_equal(reason, "key");
	assert_int_equal(rl_ban_of(rl, rule, "11.0.0.0", 8, rl_now(rl), keep_reason, reason), 0);
	assert_int_equal(rl_ban_of(rl, rule, "172.16.0.1", 10, rl_now(rl), keep_reason, reason), 0);
	assert_int_equal(rl_ban_of(rl, rule + 1, "a", 1, rl_now(rl), keep_reason, reason), -EINVAL);
	assert_int_equal(rl_ban_of(rl, rule, "", 0, rl_now(rl), keep_reason, reason), -EINVAL);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_ban_and_its_end),
		cmocka_unit_test(test_a_ban_behind_a_ban),
		cmocka_unit_test(test_an_exemption),
		cmocka_unit_test(test_which_one_wins),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_what_cannot_be_banned),
		cmocka_unit_test(test_bans_match_what_patterns_match),
		cmocka_unit_test(test_which_one_answers),
		cmocka_unit_test(test_the_list),
		cmocka_unit_test(test_what_stands_for_a_pattern),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_another_process_knows_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
