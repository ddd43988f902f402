/* SPDX-License-Identifier: BSD-2-Clause */
/* What docs/SECURITY.md says of descriptors and of the secret, and rl.h of signals. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "at.h"
#include "rule/handle.h"
#include "testing.h"

static int opened;    /* by open() in the library */
static int inherited; /* of them, such as a program that is executed would get */

/* In place of libc's, for all of this program. */
__attribute__((visibility("default"))) int
open(const char *path, int flags, ...)
{
	opened++;
	inherited += !(flags & O_CLOEXEC);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

#ifndef __has_feature
#define __has_feature(what) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HAS_OWN_MALLOC 0 /* the sanitizer has */
#else
#define HAS_OWN_MALLOC 1
#endif

static int allocations;

#if HAS_OWN_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

__attribute__((visibility("default"))) void *
malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *
calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}
#endif

/* How many descriptors there are, and how many of them a program that is executed would get. */
static int
descriptors(int *to_inherit)
{
	int count = 0;

	*to_inherit = 0;
	for (int fd = 3; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);
		count += flags >= 0;
		*to_inherit += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return count;
}

/* Creating, attaching and configuring leave no descriptor; the sweeper has one of its own. */
static void
test_descriptors(void **state)
{
	const struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = {.capacity = 1, .window_ns = RL_SECOND}}};
	int before, before_inherit, inherit;
	struct rl *rl, *reader;
	pid_t holder;

	(void)state;
	before = descriptors(&before_inherit);
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	assert_int_equal(rl_open(test_segment_name(),
	                         &(struct rl_options){.flags = RL_OPEN_READONLY}, &reader),
	                 0);
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	assert_int_equal(descriptors(&inherit), before);
	assert_int_equal(rl_supervise(rl, &holder), 0);
	assert_int_equal(descriptors(&inherit), before + 1);
	assert_int_equal(inherit, before_inherit);
	rl_close(reader);
	rl_close(rl);
	assert_int_equal(descriptors(&inherit), before);
	assert_true(opened > 0);
	assert_int_equal(inherited, 0);
}

static bool
holds(const void *bytes, size_t len, const void *secret, size_t secret_len)
{
	return memmem(bytes, len, secret, secret_len) != NULL;
}

static const uint64_t *secret;

static int
look_for_secret(const struct rl_entry *e, void *arg)
{
	bool *is_told = arg;

	*is_told |= holds(e, sizeof *e, secret, 8) || e->id == secret[0] || e->id == secret[1];
	*is_told |= e->key && holds(e->key, e->key_kept, secret, 8);
	return 0;
}

/* Of what tools are told, nothing is the hash key; and it differs from segment to segment. */
static void
test_hash_key(void **state)
{
	struct rl *rl = test_private(100), *other = test_private(100);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 0, false);
	struct rl_rule_info rule_info;
	bool is_told = false;
	struct rl_info info;

	(void)state;
	secret = rl->segment.header->hash_key;
	assert_true(secret[0] != 0 && secret[1] != 0 && secret[0] != secret[1]);
	assert_memory_not_equal(secret, other->segment.header->hash_key, 16);
	for (uint64_t key = 0; key < 50; key++)
		at_check(rl, rule, &key, sizeof key, 1, RL_SECOND, NULL);
	rl_walk(rl, RL_SECOND, NULL, look_for_secret, &is_told);
	rl_info(rl, &info);
	assert_int_equal(rl_rule_info(rl, rule, &rule_info), 1);
	assert_false(is_told || holds(&info, sizeof info, secret, 8) ||
	             holds(&rule_info, sizeof rule_info, secret, 8));
	rl_close(rl);
	rl_close(other);
}

/* What a signal handler may call allocates nothing once a limit was used. */
static void
test_decisions_do_not_allocate(void **state)
{
	struct rl *rl = test_private(100);
	const struct rl_limit more = {.capacity = 9, .window_ns = 60 * RL_SECOND};
	int rule = test_rule(rl, "r", 3, RL_SECOND, 4, true);
	int two = rl_define(rl, &(struct rl_rule){.name = "two",
	                                          .limit = {.capacity = 3, .window_ns = RL_SECOND},
	                                          .more = &more,
	                                          .more_count = 1});
	struct rl_result r;
	int before = allocations;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		at_check(rl, rule, &i, 1 + i % 2, 1, RL_SECOND + i, &r);
		at_peek(rl, rule, &i, 1, RL_SECOND + i, &r);
		at_check(rl, two, &i, 1 + i % 2, 1, RL_SECOND + i, &r);
		rl_check(rl, rule, &i, 1, 1, &r);
	}
	assert_int_equal(allocations, before);
	assert_true(before > 0 || !HAS_OWN_MALLOC);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_descriptors, test_unlink),
		cmocka_unit_test(test_hash_key),
		cmocka_unit_test(test_decisions_do_not_allocate),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
