/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rlctl replay takes for a line of a log, beside what people do without it: awk that counts by
 * key and minute. Both read the same file, of Zipf-like keys; and JSON lines of the same requests.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "open.h"
#include "report.h"

#define LINES 4000000
#define KEYS 200000
#define LINES_A_SECOND 100
#define ROUNDS_MAX 3

#define AWK "{ m[$1 \" \" substr($4, 2, 17)]++ } END { for (k in m) if (m[k] > 60) n++; print n }"

/* The file lives no longer than this program. */
struct log {
	char path[32];
	FILE *file;
};

static struct log
log_create(void)
{
	struct log log = {.path = "/tmp/rl-bench-XXXXXX"};
	int fd = mkstemp(log.path);

	log.file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!log.file)
		bench_die("%s: cannot be made", log.path);
	bench_remove_at_end(log.path);
	return log;
}

static void
log_close(struct log *log)
{
	if (fclose(log->file) != 0)
		bench_die("%s: there is no room for it", log->path);
}

/* The n-th most frequent key has about 1/n of the requests. */
static uint32_t
client_of(uint64_t i)
{
	double share = (double)bench_pick(i, UINT64_C(1) << 53) / (double)(UINT64_C(1) << 53);
	uint64_t rank = (uint64_t)exp(share * log(KEYS)) - 1;

	return (uint32_t)bench_scramble(rank);
}

static void
write_common(FILE *file, uint64_t i)
{
	uint32_t c = client_of(i);
	time_t seconds = (time_t)(BENCH_T0 / RL_SECOND + i / LINES_A_SECOND);
	char stamp[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(stamp, sizeof stamp, "%d/%b/%Y:%H:%M:%S +0000", &tm);
	fprintf(file,
	        "%u.%u.%u.%u - - [%s] \"GET /item/%u?page=%u HTTP/1.1\" 200 %u "
	        "\"https://www.example.org/catalogue/%u\" \"Mozilla/5.0 (X11; Linux x86_64; "
	        "rv:109.0) Gecko/20100101 Firefox/115.0\"\n",
	        c >> 24, c >> 16 & 255, c >> 8 & 255, c & 255, stamp, (unsigned)(i % 977),
	        (unsigned)(i % 13), (unsigned)(i % 9000), (unsigned)(i % 31));
}

/* As Caddy has it, with as many headers. */
static void
write_json(FILE *file, uint64_t i)
{
	uint32_t c = client_of(i);
	char client[16];

	snprintf(client, sizeof client, "%u.%u.%u.%u", c >> 24, c >> 16 & 255, c >> 8 & 255,
	         c & 255);
	fprintf(file,
	        "{\"level\":\"info\",\"ts\":%u.%02u,\"logger\":\"http.log.access\",\"msg\":"
	        "\"handled "
	        "request\",\"request\":{\"remote_ip\":\"%s\",\"client_ip\":\"%s\",\"proto\":\"HTTP/"
	        "2.0\",\"method\":\"GET\",\"host\":\"www.example.org\",\"uri\":\"/item/"
	        "%u?page=%u\","
	        "\"headers\":{\"User-Agent\":[\"Mozilla/5.0 (X11; Linux x86_64; rv:109.0)\"]}},"
	        "\"duration\":0.000929675,\"size\":%u,\"status\":200}\n",
	        (unsigned)(BENCH_T0 / RL_SECOND + i / LINES_A_SECOND),
	        (unsigned)(i % LINES_A_SECOND), client, client, (unsigned)(i % 977),
	        (unsigned)(i % 13), (unsigned)(i % 9000));
}

/* By turns, so that what changes with time changes them alike. */
static void
measure_commands(const struct bench *bench, const struct command *commands, size_t count,
                 uint64_t lines, struct samples *samples)
{
	for (unsigned round = 0; round < bench->rounds; round++)
		for (size_t i = 0; i < count; i++) {
			samples[i].ns[round] = command_run(&commands[i]).cpu_ns / (double)lines;
			samples[i].count = round + 1;
		}
}

static void
tell(json_t *section, const char *id, const char *label, const struct samples *s,
     const struct samples *to, double target, bool is_at_least)
{
	struct samples ratio = samples_ratio(s, to);

	report_row(section, &(struct row){.id = id,
	                                  .label = label,
	                                  .value = samples_median(s),
	                                  .unit = "ns",
	                                  .ratio = samples_median(&ratio),
	                                  .to = s == to ? NULL : "replay",
	                                  .target = target,
	                                  .is_at_least = is_at_least});
}

static void
measure(struct bench *bench, const char *common, const char *json, uint64_t lines)
{
	json_t *section = report_section(bench->report, "replay", "A line of a log");
	const char *rlctl = command_rlctl();
	const struct command commands[] = {
		{{rlctl, "replay", "-c60", "-w1m", common}},
		{{"awk", AWK, common}},
		{{rlctl, "replay", "-c60", "-w1m", json}},
		{{rlctl, "replay", "--suggest", "-w1m", common}},
	};
	struct samples samples[4] = {0};

	measure_commands(bench, commands, 4, lines, samples);
	tell(section, "replay", "rlctl replay, two counters", &samples[0], &samples[0], 0, false);
	tell(section, "awk", "awk that counts by key and minute", &samples[1], &samples[0], 2,
	     true);
	tell(section, "json", "rlctl replay of a JSON line", &samples[2], &samples[0], 3, false);
	tell(section, "suggest", "rlctl replay --suggest", &samples[3], &samples[0], 0, false);
	report_note(section, "%" PRIu64 " lines, %d keys or less, as combined logs and as Caddy's.",
	            lines, KEYS);
}

void
bench_replay(struct bench *bench)
{
	unsigned rounds = bench->rounds;
	uint64_t lines = bench_n(bench, LINES);
	struct log common = log_create(), json = log_create();

	for (uint64_t i = 0; i < lines; i++) {
		write_common(common.file, i);
		write_json(json.file, i);
	}
	log_close(&common);
	log_close(&json);
	if (bench->rounds > ROUNDS_MAX)
		bench->rounds = ROUNDS_MAX;
	measure(bench, common.path, json.path, lines);
	bench->rounds = rounds;
	unlink(common.path);
	unlink(json.path);
}
