/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments that this process has open, by name and by how they were opened. They stay over
 * requests.
 */
#include "php_handle.h"

static void
handle_end(struct handle *handle)
{
	struct rule_entry *next;

	rlb_close(&handle->s);
	for (struct rule_entry *entry = handle->rules; entry; entry = next) {
		next = entry->next;
		pefree(entry, 1);
	}
	pefree(handle, 1);
}

void
rlp_handle_keep(struct handle *handle)
{
	handle->references++;
}

void
rlp_handle_drop(struct handle *handle)
{
	if (handle && --handle->references == 0)
		handle_end(handle);
}

void
rlp_handle_free(zval *value)
{
	rlp_handle_drop(Z_PTR_P(value));
}

/* Where the new one of the name cannot be opened, the old one goes on to limit: say so, once. */
void
rlp_handle_look(struct handle *handle)
{
	int trouble;

	rlb_look(&handle->s);
	trouble = handle->s.trouble;
	if (trouble == handle->warned)
		return;
	handle->warned = trouble;
	if (trouble == 0)
		return;
	handle->is_warning = true;
	php_error_docref(NULL, E_WARNING,
	                 "segment %s was replaced, and the new one cannot be opened: %s. "
	                 "This process goes on with "
	                 "the old one, and tries again each second",
	                 handle->s.name, rl_strerror(trouble));
	handle->is_warning = false;
}

static zend_string *
table_key(const char *name, const struct rl_options *o)
{
	return zend_strpprintf(0, "%s/%x/%lu/%o", name, o->flags & ~(unsigned)RL_OPEN_AT_LEAST,
	                       (unsigned long)o->group, (unsigned)o->mode);
}

/* One that is open already has to suffice as well, if that is asked. */
static int
compare_open(struct handle *handle, const struct rl_options *options)
{
	struct rl_info info;

	if (!(options->flags & RL_OPEN_AT_LEAST))
		return 0;
	rl_info(handle->s.rl, &info);
	return rl_open_compare(&info, options, NULL, 0);
}

static struct handle *
handle_new(void)
{
	struct handle *handle = pecalloc(1, sizeof *handle, 1);

	handle->references = 1;
	return handle;
}

struct handle *
rlp_handle_open(const char *name, const struct rl_options *options, int *error)
{
	zend_string *key = table_key(name, options);
	struct handle *handle = zend_hash_find_ptr(&RL_G(handles), key);

	*error = 0;
	if (handle && handle->s.rl) {
		rlp_now(handle);
		*error = compare_open(handle, options);
	} else if (handle) { /* it was closed: its epoch goes on, so that rules are found anew */
		uint32_t epoch = handle->s.epoch;

		*error = rlb_open(&handle->s, name, options);
		handle->s.epoch = epoch + 1;
	} else {
		handle = handle_new();
		*error = rlb_open(&handle->s, name, options);
		if (*error < 0)
			rlp_handle_drop(handle);
		else
			zend_hash_str_add_ptr(&RL_G(handles), ZSTR_VAL(key), ZSTR_LEN(key), handle);
	}
	zend_string_release(key);
	if (*error < 0)
		return NULL;
	rlp_handle_keep(handle);
	return handle;
}

struct handle *
rlp_handle_private(const struct rl_options *options, int *error)
{
	struct handle *handle = handle_new();

	*error = rlb_open_private(&handle->s, options);
	if (*error == 0)
		return handle;
	rlp_handle_drop(handle);
	return NULL;
}
