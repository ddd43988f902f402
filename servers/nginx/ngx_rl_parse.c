/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of directives, as nginx has them, and where they stand. What they say is read by
 * bindings/common.
 */
#include "ngx_rl.h"

#include <ctype.h>

ngx_int_t
ngx_rl_parse_number(const ngx_str_t *text, uint64_t most, uint64_t *number)
{
	return rlb_word_number((const char *)text->data, text->len, 0, most, number) < 0 ? NGX_ERROR
	                                                                                 : NGX_OK;
}

ngx_int_t
ngx_rl_parse_variable(const ngx_str_t *text, ngx_str_t *name)
{
	int has_braces = text->len > 3 && text->data[1] == '{' && text->data[text->len - 1] == '}';

	if (text->len < 2 || text->data[0] != '$')
		return NGX_ERROR;
	name->data = text->data + (has_braces ? 2 : 1);
	name->len = text->len - (has_braces ? 3 : 1);
	if (name->data[0] >= '1' && name->data[0] <= '9') /* of a regular expression */
		return NGX_ERROR;
	for (size_t i = 0; i < name->len; i++)
		if (!isalnum(name->data[i]) && name->data[i] != '_')
			return NGX_ERROR;
	return NGX_OK;
}

int
ngx_rl_option(const ngx_str_t *word, const char *name, ngx_str_t *text)
{
	size_t len = ngx_strlen(name);

	if (word->len <= len || ngx_strncmp(word->data, name, len) != 0 || word->data[len] != '=')
		return 0;
	text->data = word->data + len + 1;
	text->len = word->len - len - 1;
	return 1;
}

ngx_int_t
ngx_rl_parse_rate(const ngx_str_t *text, struct rl_limit *limit)
{
	struct rlb_limit said;

	if (rlb_word_begins((const char *)text->data, &said) != 1 || said.limit.window_ns == 0)
		return NGX_ERROR;
	limit->capacity = said.limit.capacity;
	limit->window_ns = said.limit.window_ns;
	return NGX_OK;
}

char *
ngx_rl_bad_word(ngx_conf_t *cf, const ngx_str_t *word)
{
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", word);
	return NGX_CONF_ERROR;
}

void
ngx_rl_place(const ngx_conf_t *cf, const char **file, ngx_uint_t *line)
{
	*file = cf->conf_file == NULL ? "" : (const char *)cf->conf_file->file.name.data;
	*line = cf->conf_file == NULL ? 0 : cf->conf_file->line;
}

struct ngx_rl_main *
ngx_rl_main_of(ngx_conf_t *cf, const ngx_command_t *cmd)
{
	const struct ngx_rl_block *block = cmd->post;

	return block->main_of(cf);
}

struct ngx_rl_set *
ngx_rl_set_of(const ngx_command_t *cmd, void *conf)
{
	return (struct ngx_rl_set *)((char *)conf + cmd->offset);
}
