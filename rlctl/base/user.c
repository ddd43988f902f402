/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/user.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

struct user_text
user_format(uid_t uid)
{
	static struct user_text last;
	static uid_t last_uid;
	static bool is_known;
	const struct passwd *entry;

	if (is_known && last_uid == uid)
		return last;
	entry = getpwuid(uid);
	if (entry)
		snprintf(last.text, sizeof(last.text), "%s", entry->pw_name);
	else
		snprintf(last.text, sizeof(last.text), "%u", (unsigned)uid);
	last_uid = uid;
	is_known = true;
	return last;
}
