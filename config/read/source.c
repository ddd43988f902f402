/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>

#include "read/source.h"

void
source_free(struct config_source *source, size_t rule_count)
{
	if (!source)
		return;
	for (size_t i = 0; source->overrides && i < rule_count; i++)
		free(source->overrides[i]);
	for (size_t i = 0; i < source->key_count; i++)
		free(source->keys[i]);
	free(source->overrides);
	free(source->rules);
	free(source->keys);
	tokens_free(&source->tokens);
	free(source->text);
	free(source);
}
