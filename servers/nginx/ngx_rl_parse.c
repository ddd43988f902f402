/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of directives, as nginx has them. What they say is read by bindings/common. */
#include "ngx_rl.h"

ngx_int_t
ngx_rl_parse_number(const ngx_str_t *text, uint64_t most, uint64_t *number)
{
	return rlb_word_number((const char *)text->data, text->len, 0, most, number) < 0 ? NGX_ERROR
	                                                                                 : NGX_OK;
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
