/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a process alive? Each row: a process that described itself and then came to something, and
 * what is said of it by pidfd with its inode, by pidfd and the time of its start, as before Linux
 * 6.9, and without pidfds, as under a filter of system calls. Where it lives, dead would give its
 * units to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder/elsewhere.h"
#include "holder/proc.h"
#include "testing.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
	FAILED = 76, /* what a process of this test exits with, if not with a verdict */
	NO_RIGHT = 77
};

/* In a child no assertion may run. */
#define CHECK(claim)                                                        \
	do {                                                                \
		if (!(claim)) {                                             \
			fprintf(stderr, "line %d: " #claim "\n", __LINE__); \
			return FAILED;                                      \
		}                                                           \
	} while (0)

/* It lives until it is killed, or whoever made it has ended. */
struct subject {
	pid_t pid;
	int leash;              /* its standard input */
	int ready;              /* its standard output */
	struct rl_process self; /* as it described itself */
};

enum way {
	BY_PIDFD,
	BY_START,
	BY_NUMBER
};

static struct rl_process *described; /* shared with children */

static void
say_so(void)
{
	if (write(STDOUT_FILENO, "", 1) != 1)
		_exit(FAILED);
}

static void
stay(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	_exit(0);
}

static void
describe_itself(void)
{
	*described = rl_process_self();
}

static void
live(void)
{
	describe_itself();
	say_so();
	stay();
}

static void
play_on(int leash, int ready, void (*play)(void))
{
	if (dup2(leash, STDIN_FILENO) < 0 || dup2(ready, STDOUT_FILENO) < 0)
		_exit(FAILED);
	close(leash);
	close(ready);
	play();
	_exit(FAILED);
}

/* Until it says so; false if it ends before. */
static bool
await(const struct subject *s)
{
	char byte;

	return read(s->ready, &byte, 1) == 1;
}

static bool
begin(struct subject *s, void (*play)(void))
{
	int leash[2], ready[2];
	bool is_ready;

	if (pipe2(leash, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		close(leash[1]);
		close(ready[0]);
		play_on(leash[0], ready[1], play);
	}
	close(leash[0]);
	close(ready[1]);
	s->leash = leash[1];
	s->ready = ready[0];
	is_ready = await(s);
	s->self = *described;
	return s->pid > 0 && is_ready;
}

static void
kill_only(const struct subject *s)
{
	siginfo_t info;

	kill(s->pid, SIGKILL);
	waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOWAIT);
}

static void
end(const struct subject *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->leash);
	close(s->ready);
}

/* From here on the kernel has no pidfd_open(2). */
static bool
forbid_pidfds(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       syscall(SYS_pidfd_open, getpid(), 0) < 0;
}

static bool
become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
}

static bool
leave_proc(void)
{
	return chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0 && access("/proc", F_OK) < 0;
}

/*
 * What is said of it by a process that has prepared itself so. Its own namespace it knows from
 * before.
 */
static int
judge(const struct rl_process *process, enum way way, bool (*prepare)(void))
{
	uint32_t here = rl_process_namespace();
	struct rl_process p = *process;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (way != BY_PIDFD)
			p.inode = 0;
		if ((way == BY_NUMBER && !forbid_pidfds()) || (prepare && !prepare()))
			_exit(NO_RIGHT);
		_exit((int)rl_alive_judge(&p, here));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static void
expect(void **state, const struct subject *s, enum rl_alive wanted)
{
	int verdict = judge(&s->self, *(enum way *)*state, NULL);

	if (verdict == NO_RIGHT) {
		end(s);
		print_message("skipped: no system call may be filtered here\n");
		skip();
	}
	assert_int_equal(verdict, wanted);
}

static void
test_alive(void **state)
{
	struct subject s;

	assert_true(begin(&s, live));
	expect(state, &s, RL_ALIVE);
	end(&s);
}

static void
test_stopped(void **state)
{
	struct subject s;

	assert_true(begin(&s, live));
	kill(s.pid, SIGSTOP);
	assert_int_equal(waitpid(s.pid, NULL, WUNTRACED), s.pid);
	expect(state, &s, RL_ALIVE);
	end(&s);
}

static void
test_killed(void **state)
{
	struct subject s;

	assert_true(begin(&s, live));
	kill_only(&s);
	expect(state, &s, RL_DEAD);
	end(&s);
	expect(state, &s, RL_DEAD);
}

static void *
describe_in_thread(void *unused)
{
	describe_itself();
	return unused;
}

static void
let_thread_end(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, describe_in_thread, NULL);
	pthread_join(thread, NULL);
	say_so();
	stay();
}

static void
test_the_thread_that_took_it_has_ended(void **state)
{
	struct subject s;

	assert_true(begin(&s, let_thread_end));
	assert_int_equal(s.self.pid, s.pid);
	expect(state, &s, RL_ALIVE);
	end(&s);
}

/* The last of its threads, once the first is a zombie. */
static void *
outlive_main(void *unused)
{
	struct rl_proc_stat stat = {0};
	char name[32];

	snprintf(name, sizeof name, "self/task/%d", (int)getpid());
	while (stat.state != 'Z')
		if (!rl_proc_read_stat(name, &stat))
			_exit(FAILED);
	say_so();
	stay();
	return unused;
}

static void
end_main_thread(void)
{
	pthread_t thread;

	describe_itself();
	pthread_create(&thread, NULL, outlive_main, NULL);
	pthread_exit(NULL);
}

static void
test_the_main_thread_has_ended(void **state)
{
	struct subject s;

	assert_true(begin(&s, end_main_thread));
	expect(state, &s, RL_ALIVE);
	kill_only(&s);
	expect(state, &s, RL_DEAD);
	end(&s);
}

static void
have_child(void)
{
	describe_itself();
	if (fork() == 0) {
		say_so();
		stay();
	}
	stay();
}

static void
test_its_child_lives_on(void **state)
{
	struct subject s;

	assert_true(begin(&s, have_child));
	expect(state, &s, RL_ALIVE);
	kill(s.pid, SIGKILL);
	assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
	expect(state, &s, RL_DEAD);
	close(s.leash);
	close(s.ready);
}

static void
become_another_program(void)
{
	describe_itself();
	execlp("sh", "sh", "-c", "echo; read line", (char *)NULL);
}

static void
test_it_is_another_program(void **state)
{
	struct subject s;

	assert_true(begin(&s, become_another_program));
	expect(state, &s, RL_ALIVE);
	end(&s);
}

static void
close_all(void)
{
	describe_itself();
	for (int fd = 3; fd < sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
		close(fd);
	say_so();
	stay();
}

static void
test_it_has_closed_all(void **state)
{
	struct subject s;

	assert_true(begin(&s, close_all));
	expect(state, &s, RL_ALIVE);
	end(&s);
}

/* A number that is used again: what differs is what it began as. */
static void
test_the_number_is_another_process(void **state)
{
	struct subject s, later;

	assert_true(begin(&s, live));
	end(&s);
	if (s.self.start == 0)
		skip(); /* no /proc */
	assert_true(begin(&later, live));
	s.self.pid = later.pid;
	s.self.start -= 2; /* of a tick each: both may have begun in the same */
	expect(state, &s, RL_DEAD);
	later.self.start += 1; /* by another clock */
	expect(state, &later, RL_ALIVE);
	later.self.start = 0; /* nobody knows */
	expect(state, &later, RL_ALIVE);
	end(&later);
}

/* Whatever its number is here. */
static void
test_another_namespace(void **state)
{
	struct subject s;

	assert_true(begin(&s, live));
	s.self.namespace ++;
	expect(state, &s, RL_ELSEWHERE);
	end(&s);
	expect(state, &s, RL_ELSEWHERE);
	s.self.namespace = 0;
	expect(state, &s, RL_ELSEWHERE);
	assert_int_equal(rl_alive_judge(&s.self, 0), RL_ELSEWHERE);
}

static void
expect_by(bool (*prepare)(void), const struct subject *s, enum rl_alive wanted)
{
	for (enum way way = BY_PIDFD; way <= BY_NUMBER; way++) {
		int verdict = judge(&s->self, way, prepare);
		assert_true(verdict == (int)wanted || (way == BY_NUMBER && verdict == NO_RIGHT));
	}
}

static void
expect_both(bool (*prepare)(void))
{
	struct subject s;

	if (geteuid() != 0)
		skip(); /* only root can be other users, or go elsewhere */
	assert_true(begin(&s, live));
	expect_by(prepare, &s, RL_ALIVE);
	end(&s);
	expect_by(prepare, &s, RL_DEAD);
}

static void
test_judged_by_another_user(void **state)
{
	(void)state;
	expect_both(become_nobody);
}

static void
test_judged_without_proc(void **state)
{
	(void)state;
	expect_both(leave_proc);
}

static int
describe_without_proc(struct rl_process *outside)
{
	CHECK(leave_proc());
	struct rl_process self = rl_process_self();
	CHECK(self.namespace == outside->namespace || self.namespace == 0);
	CHECK(self.start == 0 && self.pid == getpid());
	return 0;
}

/*
 * Who began without /proc says what it can: its start is unknown, and before Linux 6.11 its
 * namespace.
 */
static void
test_described_without_proc(void **state)
{
	struct rl_process outside = rl_process_self();
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(describe_without_proc(&outside));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What a scene comes to, played by the first process of new namespaces. */
static int
in_namespaces(int flags, const char *proc_options, int (*scene)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(flags | CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(NO_RIGHT);
		pid = fork();
		if (pid == 0)
			_exit(proc_options && mount("proc", "/proc", "proc", 0, proc_options) < 0
			              ? NO_RIGHT
			              : scene());
		if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
			_exit(FAILED);
		_exit(WEXITSTATUS(status));
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static void
expect_played(int status)
{
	if (status == NO_RIGHT) {
		print_message("skipped: no such namespace may be made here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static bool
all_say(const struct rl_process *p, bool (*prepare)(void), enum rl_alive wanted)
{
	int first = judge(p, BY_PIDFD, prepare), second = judge(p, BY_START, prepare);
	int third = judge(p, BY_NUMBER, prepare);

	return first == (int)wanted && second == (int)wanted &&
	       (third == (int)wanted || third == NO_RIGHT);
}

static int
judge_what_is_hidden(void)
{
	struct rl_stranger stranger = {.process = {.pid = 1, .namespace = 5}};
	struct subject s;

	CHECK(begin(&s, live));
	CHECK(all_say(&s.self, become_nobody, RL_ALIVE));
	end(&s);
	CHECK(all_say(&s.self, become_nobody, RL_DEAD));
	CHECK(rl_elsewhere_judge(&stranger, 1, rl_process_namespace()) == -EPERM);
	return 0;
}

static void
test_what_proc_hides(void **state)
{
	(void)state;
	expect_played(in_namespaces(CLONE_NEWPID, "hidepid=2", judge_what_is_hidden));
}

/* As number 1, which is another process in the /proc that is there. */
static int
judge_beside_the_hosts_proc(void)
{
	struct rl_stranger stranger = {.process = {.pid = 1, .namespace = 5}};
	struct rl_process self = rl_process_self();

	CHECK(getpid() == 1 && self.pid == 1);
	CHECK(!rl_proc_is_ours());
	CHECK(all_say(&self, NULL, RL_ALIVE));
	self.start = 12345; /* as somebody knows it who can read it */
	CHECK(all_say(&self, NULL, RL_ALIVE));
	CHECK(rl_elsewhere_judge(&stranger, 1, rl_process_namespace()) == -EPERM);
	return 0;
}

static void
test_proc_of_the_host(void **state)
{
	(void)state;
	expect_played(in_namespaces(CLONE_NEWPID, NULL, judge_beside_the_hosts_proc));
}

static int
describe_and_return(void)
{
	describe_itself();
	return 0;
}

/* Number 1 there: somebody else has it here. */
static void
test_a_number_of_another_namespace(void **state)
{
	struct rl_process outside = rl_process_self();

	(void)state;
	expect_played(in_namespaces(CLONE_NEWPID, "", describe_and_return));
	assert_int_equal(described->pid, 1);
	assert_int_not_equal(described->namespace, outside.namespace);
	assert_true(all_say(described, NULL, RL_ELSEWHERE));
	described->namespace = outside.namespace;
	assert_true(all_say(described, NULL, RL_DEAD));
}

/* Children are two hours ahead. */
static bool
go_two_hours_ahead(void)
{
	static const char offset[] = "boottime 7200 123456789";
	int fd;

	if (unshare(CLONE_NEWTIME) < 0)
		return false;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, offset, sizeof offset - 1) > 0 && close(fd) == 0;
}

/* Of a process of the host's time, and of one of the time there. */
static int
judge_two_hours_ahead(void)
{
	struct rl_process outside = *described;

	CHECK(all_say(&outside, NULL, RL_ALIVE));
	outside.start -= 10;
	CHECK(judge(&outside, BY_START, NULL) == RL_DEAD);
	describe_itself();
	CHECK(all_say(described, NULL, RL_ALIVE));
	return 0;
}

static int
fork_two_hours_ahead(void)
{
	int status;
	pid_t pid;

	if (!go_two_hours_ahead())
		return NO_RIGHT;
	pid = fork();
	if (pid == 0)
		_exit(judge_two_hours_ahead());
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
test_another_time_namespace(void **state)
{
	(void)state;
	describe_itself();
	if (described->start == 0)
		skip();
	expect_played(in_namespaces(0, NULL, fork_two_hours_ahead));
}

/*
 * A pid namespace with two processes: the first, and a holder that it ends when it is told so. They
 * describe themselves as 0, the holder, and 1.
 */
static void
hold(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	described[0] = rl_process_self();
	say_so();
	for (;;)
		pause();
}

static void
be_first(void)
{
	pid_t holder;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	described[1] = rl_process_self();
	holder = fork();
	if (holder == 0)
		hold();
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
		say_so();
	}
	_exit(0);
}

static void
nest(void)
{
	pid_t first;

	if (unshare(CLONE_NEWPID) < 0)
		_exit(NO_RIGHT);
	first = fork();
	if (first == 0)
		be_first();
	close(STDOUT_FILENO);
	waitpid(first, NULL, 0);
	_exit(0);
}

enum {
	HOLDER,
	FIRST,
	LATER, /* with the first one's number, but another process */
	EARLIER,
	UNSEEN, /* of a namespace that may be anywhere */
	UNKNOWN,
	STRANGERS
};

static void
name_strangers(struct rl_stranger stranger[static STRANGERS])
{
	for (int i = 0; i < STRANGERS; i++)
		stranger[i] = (struct rl_stranger){.process = described[i == HOLDER ? 0 : 1]};
	stranger[LATER].process.inode++;
	stranger[EARLIER].process.inode = 0;
	stranger[EARLIER].process.start -= 10;
	stranger[UNSEEN].process.namespace = 5;
	stranger[UNKNOWN].process.namespace = 0;
}

/* Which of them are found dead, a bit each. */
static unsigned
found_dead(void)
{
	struct rl_stranger stranger[STRANGERS];
	unsigned dead = 0;

	name_strangers(stranger);
	if (rl_elsewhere_judge(stranger, STRANGERS, rl_process_namespace()) < 0)
		return UINT32_MAX;
	for (unsigned i = 0; i < STRANGERS; i++)
		dead |= (unsigned)stranger[i].is_dead << i;
	return dead;
}

/* The host sees all; another namespace must have seen somebody of the same. */
static int
judge_strangers(void)
{
	bool is_host = rl_process_namespace() == 0xeffffffc;
	unsigned others, dead;
	struct subject s;

	CHECK(begin(&s, nest) && described[0].namespace != 0);
	others =
		1u << EARLIER | (s.self.inode > 0 ? 1u << LATER : 0) | (is_host ? 1u << UNSEEN : 0);
	dead = found_dead();
	CHECK(dead == others);
	CHECK(write(s.leash, "", 1) == 1 && await(&s));
	dead = found_dead();
	CHECK(dead == (others | 1u << HOLDER));
	close(s.leash);
	CHECK(waitpid(s.pid, NULL, 0) == s.pid);
	dead = found_dead();
	close(s.ready);
	CHECK(dead == (is_host ? (1u << UNKNOWN) - 1 : 0));
	return 0;
}

static void
test_strangers_below_the_host(void **state)
{
	(void)state;
	expect_played(in_namespaces(0, NULL, judge_strangers));
}

static void
test_strangers_below_a_container(void **state)
{
	(void)state;
	expect_played(in_namespaces(CLONE_NEWPID, "", judge_strangers));
}

#define BY(test, how)                                                                     \
	{                                                                                 \
		.name = #test "_by_" #how, .test_func = test, .initial_state = &by_##how, \
	}
#define cmocka_unit_test_each_way(test) BY(test, pidfd), BY(test, start), BY(test, number)

int
main(void)
{
	static enum way by_pidfd = BY_PIDFD, by_start = BY_START, by_number = BY_NUMBER;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_each_way(test_alive),
		cmocka_unit_test_each_way(test_stopped),
		cmocka_unit_test_each_way(test_killed),
		cmocka_unit_test_each_way(test_the_thread_that_took_it_has_ended),
		cmocka_unit_test_each_way(test_the_main_thread_has_ended),
		cmocka_unit_test_each_way(test_its_child_lives_on),
		cmocka_unit_test_each_way(test_it_is_another_program),
		cmocka_unit_test_each_way(test_it_has_closed_all),
		cmocka_unit_test_each_way(test_the_number_is_another_process),
		cmocka_unit_test_each_way(test_another_namespace),
		cmocka_unit_test(test_judged_by_another_user),
		cmocka_unit_test(test_judged_without_proc),
		cmocka_unit_test(test_described_without_proc),
		cmocka_unit_test(test_what_proc_hides),
		cmocka_unit_test(test_proc_of_the_host),
		cmocka_unit_test(test_a_number_of_another_namespace),
		cmocka_unit_test(test_another_time_namespace),
		cmocka_unit_test(test_strangers_below_the_host),
		cmocka_unit_test(test_strangers_below_a_container),
	};

	described = test_shared(2 * sizeof *described);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
