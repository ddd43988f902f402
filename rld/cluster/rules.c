/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
rules_open(struct rules *r, const char *state, const char *segment)
{
	int size = snprintf(r->path, sizeof r->path, "%s/%s.rules.json", state, segment);

	snprintf(r->path_new, sizeof r->path_new, "%s.new", r->path);
	return size < (int)sizeof r->path;
}

void
rules_sha(const char *text, size_t size, char sha[static RULES_SHA])
{
	unsigned char hash[EVP_MAX_MD_SIZE];

	sha[0] = '\0';
	if (EVP_Digest(text, size, hash, NULL, EVP_sha256(), NULL) != 1)
		return;
	for (int i = 0; i < (RULES_SHA - 1) / 2; i++)
		snprintf(sha + i * 2, 3, "%02x", hash[i]);
}

static void
say(struct rules *r, bool is_trouble, const char *what)
{
	char text[400];

	snprintf(text, sizeof text, "cluster: rules, version %" PRIu64 ": %s", r->version, what);
	r->report(r->report_arg, is_trouble, text);
}

static bool
write_new(const struct rules *r, const char *text, size_t size)
{
	int fd = open(r->path_new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_whole = fd >= 0 && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;

	return (fd < 0 || close(fd) == 0) && is_whole;
}

static void
put_into_force(struct rules *r, const char *text, size_t size)
{
	r->is_good = false;
	if (!write_new(r, text, size)) {
		say(r, true, strerror(errno));
	} else if (!r->take(r->take_arg, r->path_new)) {
		unlink(r->path_new);
		say(r, true, "refused; the rules before stay in force");
	} else {
		r->is_good = true;
		if (rename(r->path_new, r->path) < 0)
			say(r, true, "in force, and could not be kept for the next start");
		else
			say(r, false, "in force");
	}
}

static void
take_document(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct rules *r = arg;
	const struct store_value *text = store_item(v, 2);
	char sha[RULES_SHA];

	(void)label;
	(void)now_ns;
	r->is_asked = false;
	if (!text || text->type != STORE_TEXT)
		return;
	r->version = (uint64_t)store_integer(store_item(v, 0), 0);
	rules_sha(text->text, text->size, sha);
	if (strcmp(sha, store_text(store_item(v, 1))) != 0) {
		r->is_good = false;
		say(r, true,
		    "its text is not what its SHA-256 says; the rules before stay in force");
		return;
	}
	put_into_force(r, text->text, text->size);
}

static void
ask(struct rules *r, int argc, const char *const *argv, store_answer *answer, uint64_t now_ns)
{
	const struct store_question q = {.key = RULES_KEY,
	                                 .key_size = strlen(RULES_KEY),
	                                 .argc = argc,
	                                 .argv = argv,
	                                 .answer = answer,
	                                 .arg = r};

	r->is_asked = store_ask(r->store, &q, now_ns) == 0;
}

static void
take_version(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	static const char *const argv[] = {"HMGET", RULES_KEY, "v", "s", "r"};
	struct rules *r = arg;
	int64_t version = store_integer(v, 0);

	(void)label;
	r->is_asked = false;
	if (version > 0 && (uint64_t)version != r->version)
		ask(r, 5, argv, take_document, now_ns);
}

void
rules_run(struct rules *r, uint64_t now_ns, uint64_t random)
{
	static const char *const argv[] = {"HGET", RULES_KEY, "v"};

	if (r->path[0] == '\0' || r->is_asked || now_ns < r->due_ns)
		return;
	r->due_ns = now_ns + RULES_EVERY_NS * 3 / 4 + random % (RULES_EVERY_NS / 2);
	ask(r, 3, argv, take_version, now_ns);
}
