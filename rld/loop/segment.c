/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <text/layout.h>

#include "base/log.h"
#include "base/options.h"
#include "text/error_text.h"

#define SHM_DIRECTORY "/dev/shm"

/* The file that has the name now. */
static bool
find_file(const char *name, const struct rl_options *options, struct stat *file)
{
	struct rl_options o = *options;
	struct rl_place place;

	o.flags |= RL_OPEN_ANY_OWNER;
	rl_place(name, &o, &place);
	return lstat(place.path, file) == 0;
}

static void
say_no_room(const struct config *config)
{
	struct rl_place place;

	rl_place(config->name, &config->options, &place);
	log_line(LOG_ERR,
	         "segment '%s' needs %" PRIu64 " bytes, and " SHM_DIRECTORY " has %" PRIu64
	         " free; nothing was created. Make room there (mount -o "
	         "remount,size=... " SHM_DIRECTORY "), or ask for fewer keys in %s",
	         config->name, place.bytes, place.room, config->path);
}

static void
say_no_memory(const struct config *config)
{
	struct rl_place place;

	rl_place(config->name, &config->options, &place);
	log_line(LOG_ERR,
	         "segment '%s' needs %" PRIu64 " bytes of memory, and %" PRIu64
	         " are left by %s; nothing was created. All of it is taken when it is made: raise "
	         "the limit (MemoryMax= of the unit, --memory of the container), or ask for fewer "
	         "keys in %s",
	         config->name, place.bytes, place.memory, place.memory_by, config->path);
}

static void
say_other_layout(const struct config *config)
{
	struct other_layout other;

	other_layout(config->name, &other);
	if (other.is_released)
		log_line(LOG_ERR,
		         "segment '%s': %s: %s; its workers go on in it, and nobody sweeps it. "
		         "'rlctl --segment %s upgrade --config %s' carries its counters over into "
		         "one that rld can use; then restart the workers",
		         config->name, rl_strerror(RL_EVERSION), other.text, config->name,
		         config->path);
	else
		log_line(LOG_ERR, "segment '%s': %s: %s; " LAYOUT_UNRELEASED, config->name,
		         rl_strerror(RL_EVERSION), other.text);
}

/*
 * Whether somebody has to do something first: to try again would not help. Of another layout a
 * segment is until it is upgraded, while its workers go on: then whoever starts rld again finds one
 * that it can use.
 */
static bool
is_lasting(int error)
{
	return error == -ENOSPC || error == RL_EMEMORY || error == RL_EFOREIGN ||
	       error == RL_EOWNER || error == RL_EPUBLIC || error == RL_ETWICE ||
	       error == RL_EMOUNT || error == RL_EDIRECTORY || error == RL_EDAMAGED ||
	       error == RL_ETRUNCATED || error == RL_EBOOT || error == RL_ECLOCK;
}

static int
say_open_failed(const struct config *config, int error)
{
	if (error == -ENOSPC)
		say_no_room(config);
	else if (error == RL_EMEMORY)
		say_no_memory(config);
	else if (error == RL_EVERSION)
		say_other_layout(config);
	else
		log_line(LOG_ERR, "segment '%s': %s", config->name, error_text(error).text);
	return is_lasting(error) ? EXIT_REFUSED : EXIT_TROUBLE;
}

/*
 * What the file leaves out may be as it is. More than it asks for does no harm; much more is a
 * warning when the configuration is put into force.
 */
static bool
suffices(const struct config *config, const struct rl_info *there)
{
	char text[RL_OPEN_TEXT_SIZE];

	if (rl_open_compare(there, &config->options, text, sizeof text) == 0)
		return true;
	log_line(LOG_ERR, "segment '%s' is less than %s asks for: %s", config->name, config->path,
	         text);
	return false;
}

static int
refuse_geometry(const struct config *config)
{
	log_line(LOG_ERR,
	         "segment '%s' stays as it is, and goes on limiting by the rules it has. Either "
	         "change %s back, or give up its counters: 'rlctl unlink', start rld again, then "
	         "restart the workers",
	         config->name, config->path);
	return EXIT_REFUSED;
}

static int
supervise(struct segment *segment, const struct config *config)
{
	pid_t holder = 0;
	int error = rl_supervise(segment->rl, &holder);

	if (error == -EBUSY && holder > 0)
		log_line(LOG_ERR, "segment '%s' has a sweeper already, process %ld; end it first",
		         config->name, (long)holder);
	else if (error == -EBUSY)
		log_line(LOG_ERR, "segment '%s' has a sweeper already; end it first", config->name);
	else if (error < 0)
		log_line(LOG_ERR, "segment '%s': cannot become its sweeper: %s", config->name,
		         error_text(error).text);
	else
		return EXIT_DONE;
	return error == -EBUSY ? EXIT_REFUSED : EXIT_TROUBLE;
}

/* With more keys and a longer ring. */
static bool
would_suffice(struct rl_info is, const struct rl_options *asked)
{
	is.keys = asked->keys > is.keys ? asked->keys : is.keys;
	is.ring = asked->ring > is.ring ? asked->ring : is.ring;
	return rl_open_compare(&is, asked, NULL, 0) == 0;
}

static void
grow(struct segment *segment, struct rl_resize to, const struct rl_info *is, const char *path)
{
	int error;

	to.keys = to.keys > is->keys ? to.keys : 0;
	to.ring = to.ring > is->ring ? to.ring : 0;
	if ((to.keys | to.ring) == 0)
		return;
	error = rl_resize(segment->rl, &to, 0);
	if (error < 0)
		log_line(LOG_ERR,
		         "segment '%s' cannot grow to what %s asks for, which takes %" PRIu64
		         " bytes: %s",
		         is->name, path, to.bytes, error_text(error).text);
}

void
segment_grow(struct segment *segment, const struct config *config)
{
	const struct rl_options *o = &config->options;
	struct rl_info is;

	rl_info(segment->rl, &is);
	if (would_suffice(is, o))
		grow(segment, (struct rl_resize){.keys = o->keys, .ring = o->ring}, &is,
		     config->path);
}

void
segment_grow_ring(struct segment *segment, const struct config *config)
{
	struct rl_info is;

	rl_info(segment->rl, &is);
	grow(segment, (struct rl_resize){.ring = config->options.ring}, &is, config->path);
}

static int
take_over(struct segment *segment, const struct config *config)
{
	struct rl_info info;
	struct stat file;
	int status;

	segment_grow(segment, config);
	rl_info(segment->rl, &info);
	if (!suffices(config, &info))
		return refuse_geometry(config);
	status = supervise(segment, config);
	if (status != EXIT_DONE)
		return status;
	if (!find_file(config->name, &segment->options, &file)) {
		log_line(LOG_ERR, "segment '%s': %s", config->name, error_text(-ENOENT).text);
		return EXIT_TROUBLE;
	}
	segment->device = file.st_dev;
	segment->inode = file.st_ino;
	log_line(LOG_INFO, "segment '%s': %" PRIu64 " slots, %" PRIu64 " bytes", config->name,
	         info.slots, info.bytes);
	return EXIT_DONE;
}

int
segment_open(struct segment *segment, const struct config *config)
{
	struct rl_options options = config->options;
	int error, status;

	options.ring = config_options(config).ring; /* of one that it makes */
	error = rl_open(config->name, &options, &segment->rl);
	segment->options = config->options;
	if (error < 0) {
		segment->rl = NULL;
		return say_open_failed(config, error);
	}
	status = take_over(segment, config);
	if (status != EXIT_DONE) {
		rl_close(segment->rl);
		segment->rl = NULL;
	}
	return status;
}

void
segment_close(struct segment *segment)
{
	if (!segment->rl)
		return;
	rl_heartbeat_at(segment->rl, 0);
	rl_close(segment->rl);
	segment->rl = NULL;
}

bool
segment_is_gone(const struct segment *segment)
{
	struct rl_info info;
	struct stat file;

	rl_info(segment->rl, &info);
	return !find_file(info.name, &segment->options, &file) || file.st_dev != segment->device ||
	       file.st_ino != segment->inode;
}
