/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rld, built with sanitizers, on segments that are damaged: before it starts, and while it sweeps,
 * is asked for its metrics and reads its configuration again. It answers each time, says nothing
 * harmful and no count that cannot be, and ends when it is told to with a status that it has. A
 * segment that is truncated ends it, and it says so. RL_FUZZ_CASES says how much, RL_TEST_RLD which
 * program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exercise.h"
#include "harmless.h"
#include "rule/handle.h"
#include "scribble.h"
#include "shared/layout_people.h"
#include "testing.h"

#define CASES_DEFAULT 5000
#define CASES_PER_START 125 /* of RL_FUZZ_CASES, which are the library's: a start is that dear */
#define ROUNDS 16           /* of damage and questions, after each start */
#define HANG_SECONDS 60
#define FILE_BYTES (16 << 20)
#define EXIT_MAX 2
#define COUNT_MAX 1000000000000000ULL /* more than a day of this test could count */
#define TROUBLE 2
#define REFUSED 1

static char directory[48];
static struct rl *rl; /* what is damaged */
static unsigned char *whole;
static pid_t child;
static FILE *said;
static uint64_t start_number;

static const char *
program(void)
{
	const char *given = getenv("RL_TEST_RLD");

	return given ? given : "build/v/asan/rld";
}

static const char *
in_directory(const char *name)
{
	static char path[64];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

/* How much a line says of something; 0 if it does not. */
static unsigned long long
amount(const char *line, const char *of)
{
	const char *at = strstr(line, of);

	if (at && of[0] == '_') /* a metric's stands behind its labels */
		return strchr(at, '}') ? strtoull(strchr(at, '}') + 1, NULL, 10) : 0;
	while (at && at > line && strchr("0123456789 ", at[-1]))
		at--;
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Bytes that no terminal obeys, and no count that cannot be. */
static void
expect_sense(const char *line)
{
	static const char *const counted[] = {"_total{", "keys lost", "requests were",
	                                      "requests got"};

	if (!is_harmless(line))
		fail_msg("start %d: %s", (int)start_number, line);
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		if (amount(line, counted[i]) > COUNT_MAX)
			fail_msg("start %d: nonsense: %s", (int)start_number, line);
}

/* What rld says, a line at a time. False at the end. */
static bool
hear(char line[static 4096])
{
	if (!fgets(line, 4096, said))
		return false;
	expect_sense(line);
	return true;
}

static bool
hear_until(const char *what)
{
	char line[4096];

	while (hear(line))
		if (strstr(line, what))
			return true;
	return false;
}

static void
be_rld(int out)
{
	char config[64], listen[80];

	snprintf(config, sizeof config, "%s", in_directory("rl.json"));
	snprintf(listen, sizeof listen, "unix:%s", in_directory("metrics"));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	unsetenv("LD_PRELOAD"); /* of stdbuf, say: a sanitizer is to come first */
	dup2(out, STDERR_FILENO);
	execl(program(), "rld", "--config", config, "--metrics-listen", listen, (char *)NULL);
	_exit(127);
}

/* True if it has come so far as to sweep. */
static bool
start(void)
{
	int ends[2];

	alarm(HANG_SECONDS);
	start_number++;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		be_rld(ends[1]);
	assert_true(child > 0);
	close(ends[1]);
	said = fdopen(ends[0], "r");
	assert_non_null(said);
	return hear_until("sweeping segment");
}

/* Hear it out; its exit status. */
static int
end(void)
{
	int status;

	hear_until("nothing that it says");
	fclose(said);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > EXIT_MAX)
		fail_msg("start %d: wait status %x", (int)start_number, (unsigned)status);
	return WEXITSTATUS(status);
}

/* Ask for the metrics; all that comes back, or false if nobody listens. */
static bool
ask(char *answer, size_t size)
{
	static const char request[] = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t have = 0;
	ssize_t got;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", in_directory("metrics"));
	if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
		close(fd);
		return false;
	}
	while ((got = read(fd, answer + have, size - 1 - have)) > 0)
		have += (size_t)got;
	answer[have] = '\0';
	close(fd);
	return true;
}

/* It answers, with numbers or that it cannot; the words in between are harmless. */
static void
expect_metrics(void)
{
	static char answer[1 << 20];
	char *body, *rest, *line;

	assert_true(ask(answer, sizeof answer));
	if (strncmp(answer, "HTTP/1.", 7) != 0 ||
	    (strncmp(answer + 8, " 200 ", 5) != 0 && strncmp(answer + 8, " 500 ", 5) != 0))
		fail_msg("start %d: answered '%.40s'", (int)start_number, answer);
	body = strstr(answer, "\r\n\r\n");
	assert_non_null(body);
	for (line = strtok_r(body + 4, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		expect_sense(line);
}

static void
restore(void)
{
	memcpy(rl->segment.header, whole, rl->segment.bytes);
}

/* How many passes over the table there were; 0 if the answer does not say. */
static unsigned long long
passes(void)
{
	static const char name[] = "\nrl_sweep_passes_total{";
	static char answer[1 << 20];
	const char *line;

	assert_true(ask(answer, sizeof answer));
	line = strstr(answer, name);
	return line && strchr(line, '}') ? strtoull(strchr(line, '}') + 1, NULL, 10) : 0;
}

/* Until the sweeper has seen all of the table as it is now. */
static void
wait_for_sweep(void)
{
	unsigned long long begun = passes();

	while (begun > 0 && passes() < begun + 1)
		usleep(5000);
}

/* A word of a rule that is in force: one of all rarely is. */
static void
scribble_statistics(uint64_t *seed)
{
	uint64_t rule =
		test_below(seed, rl->segment.geometry.rules < 8 ? rl->segment.geometry.rules : 8);

	rl_atomic_store(&rl->segment.stats[rule].counter[test_below(seed, RL_COUNTERS)],
	                test_below(seed, UINT64_MAX));
}

static void
damage_and_ask(uint64_t *seed)
{
	for (int i = 0; i < ROUNDS; i++) {
		alarm(HANG_SECONDS);
		if (test_below(seed, 4) == 0)
			restore();
		for (uint64_t n = 1 + test_below(seed, 20); n > 0; n--)
			scribble_segment(&rl->segment, seed);
		if (test_below(seed, 2) == 0)
			scribble_statistics(seed);
		if (test_below(seed, 4) == 0)
			kill(child, SIGHUP);
		expect_metrics();
		if (i % 8 == 7)
			wait_for_sweep();
	}
}

static uint64_t
starts(void)
{
	const char *given = getenv("RL_FUZZ_CASES");

	return (given ? strtoull(given, NULL, 10) : CASES_DEFAULT) / CASES_PER_START + 1;
}

static void
test_damaged(void **state)
{
	uint64_t seed, refused = 0, swept = 0;

	(void)state;
	for (uint64_t i = 0; i < starts(); i++) {
		seed = i;
		restore();
		for (uint64_t n = i == 0 ? 0 : test_below(&seed, 40); n > 0; n--)
			scribble_segment(&rl->segment, &seed);
		if (i % 4 == 3)
			scribble_header(rl->segment.header, &seed);
		if (start()) {
			damage_and_ask(&seed);
			kill(child, SIGTERM);
			assert_int_equal(end(), 0);
			swept++;
		} else {
			refused += end() > 0;
		}
	}
	alarm(0);
	assert_true(swept > 0);
	assert_int_equal(swept + refused, starts());
	print_message("           %d damaged segments swept, %d refused\n", (int)swept,
	              (int)refused);
}

/* It says what was done to it, and does not start again on what is left. */
static void
test_truncated(void **state)
{
	size_t table = (size_t)((unsigned char *)rl->segment.table.bucket -
	                        (unsigned char *)rl->segment.header);
	const size_t lengths[] = {0, RL_HEADER_BYTES, table};
	int fd = test_file_of_segment();

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		assert_int_equal(ftruncate(fd, (off_t)rl->segment.bytes), 0);
		restore();
		assert_true(start());
		assert_int_equal(ftruncate(fd, (off_t)lengths[i]), 0);
		assert_true(hear_until("was truncated"));
		assert_int_equal(end(), TROUBLE);
		assert_int_equal(access(in_directory("metrics"), F_OK), -1);
		assert_false(start());
		assert_int_equal(end(), REFUSED);
	}
	alarm(0);
	assert_int_equal(ftruncate(fd, (off_t)rl->segment.bytes), 0);
	close(fd);
}

static void
write_config(void)
{
	FILE *file = fopen(in_directory("rl.json"), "we");

	assert_non_null(file);
	fprintf(file,
	        "{\"segment\": {\"name\": \"%s\"}, \"gc\": {\"interval\": \"100ms\"},"
	        " \"rules\": {\"hard\": {\"capacity\": 4, \"window\": \"8s\","
	        " \"granularity\": 8, \"hard\": true},"
	        " \"two\": {\"capacity\": 9, \"window\": \"1m\", \"granularity\": 1}}}\n",
	        test_segment_name());
	assert_int_equal(fclose(file), 0);
}

static int
prepare(void **state)
{
	int fd;

	(void)state;
	setenv("ASAN_OPTIONS", "exitcode=99", 1);
	setenv("UBSAN_OPTIONS", "exitcode=99", 1);
	test_make_directory(directory, sizeof directory);
	write_config();
	rl_unlink(test_segment_name());
	assert_int_equal(rl_open(test_segment_name(), &exercise_options, &rl), 0);
	exercise_fill(rl);
	fd = test_file_of_segment();
	assert_int_equal(ftruncate(fd, FILE_BYTES), 0); /* room for tables that there are not */
	close(fd);
	whole = malloc(rl->segment.bytes);
	assert_non_null(whole);
	memcpy(whole, rl->segment.header, rl->segment.bytes);
	harmless_except(rl->segment.header);
	return 0;
}

static int
clean_up(void **state)
{
	(void)state;
	if (child > 0)
		kill(child, SIGKILL);
	unlink(in_directory("metrics"));
	unlink(in_directory("rl.json"));
	rmdir(directory);
	free(whole);
	rl_close(rl);
	rl_unlink(test_segment_name());
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_truncated),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, prepare, clean_up);
}
