/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "nft.h"

#define CLIENT_V6 64                    /* bits of IPv6 that are a client, as the seats count it */
#define SLEPT_NS (200 * RL_MILLISECOND) /* beyond which all ends are set anew */
#define TRIES 100                       /* to be between two changes of others */

static const char usage[] =
	"usage: rl-nft [--segment NAME] [--rule RULE]... [--client-v6 BITS]\n"
	"              [--sets-only] [--dry-run]\n"
	"       rl-nft --remove\n"
	"\n"
	"Keeps the addresses and networks that an rl segment bans in two sets of nftables, and "
	"drops\n"
	"what comes from them.\n"
	"\n"
	"  -s, --segment NAME  the segment (default: $RL_SEGMENT, or default)\n"
	"  -r, --rule RULE     bans under this rule, too; those under every rule always are\n"
	"      --client-v6 BITS\n"
	"                      how many leading bits of IPv6 are a client (default: 64)\n"
	"      --sets-only     leave it to rules of yours in the table 'inet rl' to use the sets\n"
	"  -n, --dry-run       write what the sets would have, as commands of nft, and end\n"
	"      --remove        remove the table 'inet rl', and end\n"
	"  -h, --help          explain, and do nothing else\n"
	"  -V, --version       print the version, and do nothing else\n";

struct options {
	const char *segment;
	const char *rules[RULES_MAX];
	size_t rule_count;
	unsigned client_v6;
	bool is_sets_only, is_dry, is_remove;
};

struct segment {
	struct rl *rl; /* NULL: it is not open yet */
	dev_t device;
	ino_t inode;
	int rules[RULES_MAX];
	size_t rule_count;
	bool is_missing[RULES_MAX]; /* of those of the options; and it is said */
};

struct mirror {
	struct options options;
	struct segment segment;
	struct bans bans;
	struct kernel kernel;
	int64_t clock_ns; /* rl's beside the kernel's, when all was put */
	uint64_t too_wide;
};

/* A line to standard error, which systemd keeps; one that was the last, too, is left out. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	static char before[512];
	char line[sizeof(before)];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (strcmp(line, before) != 0)
		fprintf(stderr, "rl-nft: %s\n", line);
	strcpy(before, line);
}

/* False after a message. */
static bool
read_bits(const char *text, unsigned *bits)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || number < 1 || number > 128 || *text < '1' || *text > '9') {
		say("--client-v6 %s: 1 to 128 is expected", text);
		return false;
	}
	*bits = (unsigned)number;
	return true;
}

/* False after a message: no segment has this name, now or later. */
static bool
is_name(const char *segment)
{
	struct rl_place place;
	bool is_one = rl_place(segment, NULL, &place) != -EINVAL;

	if (!is_one)
		say("--segment %s: no segment can have this name", segment);
	return is_one;
}

/* -1: go on; else the status to end with. */
static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {{"segment", required_argument, NULL, 's'},
	                                      {"rule", required_argument, NULL, 'r'},
	                                      {"client-v6", required_argument, NULL, 'c'},
	                                      {"sets-only", no_argument, NULL, 'o'},
	                                      {"dry-run", no_argument, NULL, 'n'},
	                                      {"remove", no_argument, NULL, 'd'},
	                                      {"help", no_argument, NULL, 'h'},
	                                      {"version", no_argument, NULL, 'V'},
	                                      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "s:r:nhV", known, NULL)) != -1)
		switch (c) {
		case 's':
			o->segment = optarg;
			break;
		case 'r':
			if (o->rule_count == RULES_MAX) {
				say("--rule: more than %d", RULES_MAX);
				return 2;
			}
			o->rules[o->rule_count++] = optarg;
			break;
		case 'c':
			if (!read_bits(optarg, &o->client_v6))
				return 2;
			break;
		case 'o':
			o->is_sets_only = true;
			break;
		case 'n':
			o->is_dry = true;
			break;
		case 'd':
			o->is_remove = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("rl-nft " RL_VERSION);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	if (optind == argc)
		return o->is_remove || is_name(o->segment) ? -1 : 2;
	say("unexpected operand '%s'", argv[optind]);
	return 2;
}

/*
 * It may come later, and be made anew: then its name is another file's. Until one is open the sets
 * stay as they are, and so they do when it is removed.
 */
static void
look_for_segment(struct segment *segment, const struct options *o)
{
	struct rl_options how = {.flags = RL_OPEN_EXISTING | RL_OPEN_READONLY};
	struct rl_place place;
	struct stat st = {0};
	struct rl *rl;
	int error = rl_place(o->segment, NULL, &place);

	if (error == 0 && stat(place.path, &st) < 0)
		error = -errno;
	if (error == 0 && segment->rl && st.st_dev == segment->device &&
	    st.st_ino == segment->inode)
		return;
	if (error == 0)
		error = rl_open(o->segment, &how, &rl);
	if (error < 0) {
		say("segment %s: %s; the sets stay as they are", o->segment, rl_strerror(error));
		return;
	}
	rl_close(segment->rl);
	segment->rl = rl;
	segment->device = st.st_dev;
	segment->inode = st.st_ino;
}

static void
look_for_rules(struct segment *segment, const struct options *o)
{
	segment->rule_count = 0;
	for (size_t i = 0; i < o->rule_count; i++) {
		int rule = rl_find(segment->rl, o->rules[i]);

		if (rule >= 0)
			segment->rules[segment->rule_count++] = rule;
		else if (!segment->is_missing[i])
			say("segment %s has no rule %s", o->segment, o->rules[i]);
		segment->is_missing[i] = rule < 0;
	}
}

/* False after a message. */
static bool
read_bans(struct mirror *mirror)
{
	struct segment *segment = &mirror->segment;
	int error;

	look_for_segment(segment, &mirror->options);
	if (!segment->rl)
		return false;
	look_for_rules(segment, &mirror->options);
	error = bans_read(segment->rl, segment->rules, segment->rule_count,
	                  mirror->options.client_v6, &mirror->bans);
	if (error < 0)
		say("the bans cannot be read: %s", strerror(-error));
	else if (mirror->bans.too_wide != mirror->too_wide)
		say("%" PRIu64 " bans of more than a /8, or a /16 of IPv6, are left to rl",
		    mirror->bans.too_wide);
	mirror->too_wide = mirror->bans.too_wide;
	return error == 0;
}

static const char *
format_address(enum family family, address some, char text[static INET6_ADDRSTRLEN])
{
	unsigned char bytes[16];
	size_t size = family == V4 ? 4 : 16;

	for (size_t i = size; i-- > 0; some >>= 8)
		bytes[i] = (unsigned char)some;
	return inet_ntop(family == V4 ? AF_INET : AF_INET6, bytes, text, INET6_ADDRSTRLEN);
}

static void
print_span(enum family family, const struct span *span, uint64_t now_ns)
{
	char text[INET6_ADDRSTRLEN];

	printf("add element inet " TABLE " v%d { %s", family == V4 ? 4 : 6,
	       format_address(family, span->first, text));
	if (span->last != span->first)
		printf("-%s", format_address(family, span->last, text));
	if (span->until_ns != RL_NEVER_NS)
		printf(" timeout %" PRIu64 "ms", (span->until_ns - now_ns) / RL_MILLISECOND);
	puts(" }");
}

static int
run_dry(struct mirror *mirror)
{
	if (!read_bans(mirror))
		return 1;
	for (unsigned i = 0; i < FAMILIES; i++)
		for (size_t j = 0; j < mirror->bans.of[i].count; j++)
			print_span(i, &mirror->bans.of[i].items[j], mirror->bans.now_ns);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* By this clock the kernel's timeouts go: unlike rl's it stands still while the host sleeps. */
static int64_t
kernel_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * (int64_t)RL_SECOND + t.tv_nsec;
}

static bool
has_slept(const struct mirror *mirror, int64_t clock_ns)
{
	int64_t by_ns = clock_ns - mirror->clock_ns;

	return by_ns > (int64_t)SLEPT_NS || -by_ns > (int64_t)SLEPT_NS;
}

/* What is not as it was left is made anew, and so is all after a transaction that was refused. */
static int
put_once(struct mirror *mirror)
{
	struct kernel *kernel = &mirror->kernel;
	int64_t clock_ns = (int64_t)rl_now(mirror->segment.rl) - kernel_clock_ns();
	int changed = kernel->is_set ? kernel_is_changed(kernel, mirror->segment.rl) : 0;
	bool was_set, is_late = has_slept(mirror, clock_ns);

	if (changed < 0)
		return changed;
	if (kernel->is_set && (changed || is_late)) {
		say("%s: the sets are made anew",
		    changed ? "others changed the table" : "the host has slept");
		kernel->is_set = false;
	}
	was_set = kernel->is_set;
	if (!was_set)
		mirror->clock_ns = clock_ns;
	changed = kernel_put(kernel, &mirror->bans);
	if (changed < 0 && changed != -ERESTART && was_set) {
		mirror->clock_ns = clock_ns;
		changed = kernel_put(kernel, &mirror->bans);
	}
	return changed;
}

/* Again where others came between: what they changed is looked at first. */
static int
put(struct mirror *mirror)
{
	int error;

	for (unsigned i = 0; i < TRIES; i++) {
		error = put_once(mirror);
		if (error != -ERESTART)
			break;
	}
	return error;
}

static int
run(struct mirror *mirror)
{
	static const struct timespec second = {1, 0};
	sigset_t ends;
	int error;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (bool is_first = true;; is_first = false) {
		error = read_bans(mirror) ? put(mirror) : 0;
		if (error < 0)
			say("the sets of nftables: %s", strerror(-error));
		if (error < 0 && is_first)
			return 1;
		if (is_first)
			sd_notify(0, "READY=1");
		if (sigtimedwait(&ends, NULL, &second) > 0)
			return 0;
	}
}

int
main(int argc, char **argv)
{
	static struct mirror mirror;
	const char *set = getenv("RL_SEGMENT");
	int status, error;

	mirror.options.client_v6 = CLIENT_V6;
	mirror.options.segment = set && *set ? set : "default";
	status = read_options(argc, argv, &mirror.options);
	if (status >= 0)
		return status;
	if (mirror.options.is_dry)
		return run_dry(&mirror);
	if (mirror.options.is_remove)
		return kernel_remove() == 0 ? 0 : 1;
	error = kernel_open(&mirror.kernel, !mirror.options.is_sets_only);
	if (error < 0)
		say("nftables: %s", strerror(-error));
	status = error < 0 ? 1 : run(&mirror);
	kernel_close(&mirror.kernel);
	bans_free(&mirror.bans);
	rl_close(mirror.segment.rl);
	return status;
}
