/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_SEGMENT_H
#define RL_APACHE_SEGMENT_H

#include <httpd.h> /* before its other headers */

#include <http_config.h>

/* RLSegment. */
const char *set_segment(cmd_parms *cmd, void *section, int argc, char *const argv[]);

#endif
