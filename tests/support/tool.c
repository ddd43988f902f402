/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harmless.h"
#include "testing.h"

#define RLCTL "build/v/asan/rlctl"

bool
tool_is_there(void)
{
	setenv("ASAN_OPTIONS", "exitcode=99", 1);
	setenv("UBSAN_OPTIONS", "exitcode=99", 1);
	return access(RLCTL, X_OK) == 0;
}

void
tool_run(const char *arguments, uint64_t number)
{
	char command[200], line[8192];
	FILE *output;
	int status;

	snprintf(command, sizeof command, RLCTL " --segment %s %s 2>&1 </dev/null",
	         test_segment_name(), arguments);
	output = popen(command, "r");
	assert_non_null(output);
	while (fgets(line, sizeof line, output))
		if (!is_harmless(line))
			fail_msg("case %d, %s: %s", (int)number, arguments, line);
	status = pclose(output);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 2)
		fail_msg("case %d, %s: wait status %x", (int)number, arguments, (unsigned)status);
}
