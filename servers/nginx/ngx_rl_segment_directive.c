/* SPDX-License-Identifier: BSD-2-Clause */
/* rl_segment: what the shared memory is called, and how it is made. Nothing is opened here. */
#include "ngx_rl.h"

static ngx_int_t
segment_word(ngx_conf_t *cf, const ngx_str_t *word, struct rl_options *options)
{
	char text[RLB_TEXT_SIZE];
	int error = rlb_word_of_segment((const char *)word->data, options, text);

	if (error < 0)
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\": %s", word,
		                   text);
	else if (error > 0)
		ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "rl_segment: %s", text);
	return error < 0 ? NGX_ERROR : NGX_OK;
}

/* rl_segment NAME [WORD...] */
char *
ngx_rl_segment_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = conf;
	ngx_str_t *words = cf->args->elts;
	struct ngx_rl_segment *segment = &main->segment;
	char text[RLB_TEXT_SIZE];
	struct rl_place place;

	(void)cmd;
	if (segment->name.len > 0)
		return "is duplicate";
	segment->name = words[1];
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++)
		if (segment_word(cf, &words[i], &segment->options) != NGX_OK)
			return NGX_CONF_ERROR;
	if (rlb_options_check(&segment->options, text) < 0) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "rl_segment: %s", text);
		return NGX_CONF_ERROR;
	}
	if (rl_place((const char *)segment->name.data, &segment->options, &place) == -EINVAL) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
		                   "a segment cannot have the name \"%V\" and these options",
		                   &words[1]);
		return NGX_CONF_ERROR;
	}
	return NGX_CONF_OK;
}
