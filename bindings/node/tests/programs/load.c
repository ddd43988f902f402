/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>

/* load FILE: it loads, with all that it needs, and is an addon. */
int
main(int argc, char **argv)
{
	void *addon = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (addon == NULL || dlsym(addon, "napi_register_module_v1") == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return 0;
}
