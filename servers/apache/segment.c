/* SPDX-License-Identifier: BSD-2-Clause */
/* RLSegment: which segment, and how it is made. */
#include "segment.h"
#include "text.h"

#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(rl);

/* NULL, or what is wrong. "group=off": no group, not that of the workers either. */
static const char *
read_word(cmd_parms *cmd, const char *word)
{
	const char *group = rlb_word_value(word, "group");
	char text[RLB_TEXT_SIZE];
	int error;

	server_conf->has_group |= group != NULL;
	if (group && strcmp(group, "off") == 0)
		return NULL;
	error = rlb_word_of_segment(word, &server_conf->options, text);
	if (error > 0)
		ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL, "RLSegment: %s", text);
	return error < 0 ? bad_word(cmd, word, text) : NULL;
}

const char *
set_segment(cmd_parms *cmd, void *section, int argc, char *const argv[])
{
	const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
	char text[RLB_TEXT_SIZE];
	struct rl_place place;

	(void)section;
	if (wrong)
		return wrong;
	if (argc < 1)
		return "RLSegment needs the name of a segment";
	if (server_conf->opened)
		return apr_pstrcat(cmd->pool, "RLSegment stands at ", server_conf->opened,
		                   " already; a server has one segment", NULL);
	server_conf->opened = place_of(cmd);
	server_conf->segment = argv[0];
	for (int i = 1; i < argc && !wrong; i++)
		wrong = read_word(cmd, argv[i]);
	if (wrong)
		return wrong;
	if (rlb_options_check(&server_conf->options, text) < 0)
		return apr_pstrcat(cmd->pool, "RLSegment: ", text, NULL);
	if (rl_place(argv[0], &server_conf->options, &place) == -EINVAL)
		return apr_psprintf(cmd->pool,
		                    "RLSegment: \"%s\" is no name of a segment, or its options are "
		                    "out of range",
		                    argv[0]);
	return NULL;
}
