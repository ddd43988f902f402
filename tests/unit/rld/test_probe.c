/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon asks itself: only an answer is one. The other side is this test, and so is the clock.
 */

#include "../../../rld/serve/probe.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

static int listener;
static struct probe probe;
static uint64_t now_ns;

static void
listen_here(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 8), 0);
	probe_open(&probe, listener);
	now_ns = 100 * RL_SECOND;
}

static int
stop_listening(void **state)
{
	(void)state;
	probe_close(&probe);
	close(listener);
	return 0;
}

/* The connection that it makes, with its question read. */
static int
take_question(void)
{
	char text[64] = "";
	int fd;

	assert_false(probe_run(&probe, now_ns));
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_false(probe_run(&probe, now_ns));
	assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
	assert_memory_equal(text, "GET / HTTP/1.0\r\n", 16);
	return fd;
}

/* Run it when what it waits for is there. */
static bool
run_when_ready(void)
{
	struct pollfd wait = {.fd = probe_fd(&probe), .events = probe_events(&probe)};

	assert_int_equal(poll(&wait, 1, 10000), 1);
	return probe_run(&probe, now_ns);
}

static void
reply(int fd, const char *text)
{
	if (*text)
		assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	close(fd);
}

static void
test_an_answer_is_told_once(void **state)
{
	(void)state;
	listen_here();
	assert_false(probe_run(&probe, now_ns));
	assert_int_equal(probe_fd(&probe), -1);
	assert_int_equal(probe_due_ns(&probe), UINT64_MAX);
	probe_start(&probe, now_ns);
	assert_int_equal(probe_due_ns(&probe), now_ns);
	reply(take_question(), "HTTP/1.1 404 Not Found\r\n\r\n");
	assert_true(run_when_ready());
	assert_int_equal(probe_due_ns(&probe), UINT64_MAX);
	assert_false(probe_run(&probe, now_ns + 60 * RL_SECOND));
	probe_start(&probe, now_ns);
	reply(take_question(), "HTTP/1.0 200 OK\r\n\r\n");
	assert_true(run_when_ready());
}

static void
test_anything_else_is_none(void **state)
{
	const char *const replies[] = {"", "HTT", "SSH-2.0-OpenSSH\r\n"};

	(void)state;
	listen_here();
	probe_start(&probe, now_ns);
	for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
		reply(take_question(), replies[i]);
		assert_false(run_when_ready());
		assert_int_equal(probe_fd(&probe), -1);
		assert_true(probe_due_ns(&probe) > now_ns);
		now_ns = probe_due_ns(&probe);
	}
	reply(take_question(), "HTTP/1.1 404 Not Found\r\n\r\n");
	assert_true(run_when_ready());
}

static void
test_silence_is_waited_for_no_longer_than_due(void **state)
{
	int fd;

	(void)state;
	listen_here();
	probe_start(&probe, now_ns);
	fd = take_question();
	assert_true(probe_due_ns(&probe) > now_ns);
	now_ns = probe_due_ns(&probe) - 1;
	assert_false(probe_run(&probe, now_ns));
	assert_true(probe_fd(&probe) >= 0);
	now_ns++;
	assert_false(probe_run(&probe, now_ns));
	assert_int_equal(probe_fd(&probe), -1);
	close(fd);
	now_ns = probe_due_ns(&probe);
	reply(take_question(), "HTTP/1.1 404 Not Found\r\n\r\n");
	assert_true(run_when_ready());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_an_answer_is_told_once, stop_listening),
		cmocka_unit_test_teardown(test_anything_else_is_none, stop_listening),
		cmocka_unit_test_teardown(test_silence_is_waited_for_no_longer_than_due,
	                                  stop_listening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
