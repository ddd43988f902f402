/* SPDX-License-Identifier: BSD-2-Clause */

#include "doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "array.h"

#define SETTLE_NS (50 * RL_MILLISECOND) /* what is being written takes less */

void
doctor_say(struct doctor *doctor, enum doctor_level level, const char *why, const char *format, ...)
{
	struct doctor_result *result;
	va_list arguments;

	doctor->results =
		array_grow(doctor->results, doctor->count, &doctor->room, sizeof(*doctor->results));
	result = &doctor->results[doctor->count++];
	*result = (struct doctor_result){.check = doctor->check, .level = level, .why = why};
	va_start(arguments, format);
	vsnprintf(result->what, sizeof(result->what), format, arguments);
	va_end(arguments);
}

void
doctor_mend(struct doctor *doctor, const char *format, ...)
{
	struct doctor_result *result = &doctor->results[doctor->count - 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(result->mend, sizeof(result->mend), format, arguments);
	va_end(arguments);
}

void
doctor_settle(void)
{
	struct timespec pause = {0, (long)SETTLE_NS};

	nanosleep(&pause, NULL);
}

bool
doctor_read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(line, (int)size, file);

	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	return is_read;
}
