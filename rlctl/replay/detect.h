/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_DETECT_H
#define RLCTL_DETECT_H

/* Which format a log has: by name, by its layout, or by its first line that can be read. */

#include "replay/reader.h"

#define FORMAT_NAMES                                                                           \
	"auto|common|combined|vcommon|vcombined|squid|w3c|alb|elb|haproxy|caddy|traefik|json|" \
	"sshd|"                                                                                \
	"seconds"

/* The user's word on it. */
struct format_choice {
	const char *name;      /* of FORMAT_NAMES */
	const char *layout;    /* of --log-format, or NULL */
	const char *time_name; /* of a JSON member, or NULL */
};

/* The name as rlctl writes it, also of one in capitals, or GoAccess's; NULL if no format has it. */
const char *format_find(const char *name);

/*
 * Decide by a line what format it has. LINE_EVENT: it is decided, and the line to be read;
 * LINE_OTHER: the line does not tell; LINE_WRONG: it cannot be, and *wrong says why. If the format
 * is known, but has no such field as is wanted, *missing is what the user calls it, which is no
 * fault of the line.
 */
enum line_kind detect(struct reader *reader, const struct format_choice *choice,
                      const struct wants *wants, struct slice line, struct stamps *stamps,
                      const char **wrong, const char **missing);

/* The names of the fields of a format that is decided, for people: "client, user, ...". */
void detect_fields(const struct reader *reader, char *text, size_t room);

#endif
