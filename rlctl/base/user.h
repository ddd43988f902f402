/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_USER_H
#define RLCTL_USER_H

#include <sys/types.h>

struct user_text {
	char text[64];
};

/* The name of a user, or of one that is none here, the number. The last one is remembered. */
struct user_text user_format(uid_t uid);

#endif
