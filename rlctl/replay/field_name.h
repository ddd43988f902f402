/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_FIELD_NAME_H
#define RLCTL_FIELD_NAME_H

/*
 * What a field of a log is called, whoever writes the log: client, user, method, uri, path,
 * request, status, bytes, referer, agent, vhost, time; a header X-Api-Key is http_x_api_key.
 * Anything else keeps its own name.
 */

#include "replay/slice.h"

#define FIELD_NAME_MAX 128

struct field_name {
	char text[FIELD_NAME_MAX]; /* "" if there is no such name */
};

/* As a user names it: "client", "$remote_addr", "%h", "%{X-Api-Key}i" or "header:X-Api-Key". */
struct field_name field_name_of(const char *text);

/* Of nginx's variable without its dollar. */
struct field_name field_name_of_variable(struct slice name);

/* Of Apache's directive, "%{argument}letter". */
struct field_name field_name_of_directive(struct slice argument, char letter);

#endif
