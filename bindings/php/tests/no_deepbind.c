/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PHP opens extensions with RTLD_DEEPBIND, which AddressSanitizer refuses: preloaded, this leaves
 * it out.
 */
#include <dlfcn.h>
#include <stddef.h>

void *
dlopen(const char *file, int mode)
{
	static void *(*next)(const char *, int);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next ? next(file, mode & ~RTLD_DEEPBIND) : NULL;
}
