/* SPDX-License-Identifier: BSD-2-Clause */
/* completion: a script that completes command lines of rlctl. */

#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "completion/completion.h"

int
run_completion(const struct context *context)
{
	static const struct {
		const char *name;
		void (*write)(const struct command *verbs);
	} shells[] = {
		{"bash", completion_bash},
		{"zsh", completion_zsh},
		{"fish", completion_fish},
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shells[i].name, context->operands[0]) != 0)
			continue;
		shells[i].write(context->verbs);
		return EXIT_YES;
	}
	complain("completion: unknown shell '%s'; use bash, zsh or fish", context->operands[0]);
	return EXIT_TROUBLE;
}
