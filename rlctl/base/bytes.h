/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BYTES_H
#define RLCTL_BYTES_H

#include <stdint.h>

struct bytes_text {
	char text[24];
};
struct bytes_text bytes_format(uint64_t bytes); /* "24.0 GiB" */

#endif
