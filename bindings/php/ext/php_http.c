/* SPDX-License-Identifier: BSD-2-Clause */
/* Rl\Proxies: the client behind proxies. */
#include "php_rl.h"

#include <rl_http.h>

#include "words.h"

struct proxies_object {
	struct rl_http_trust trust;
	struct rl_http_network *networks;
	zend_object std;
};

static zend_object_handlers proxies_handlers;

zend_object *
rlp_proxies_create(zend_class_entry *ce)
{
	struct proxies_object *proxies = zend_object_alloc(sizeof *proxies, ce);

	zend_object_std_init(&proxies->std, ce);
	object_properties_init(&proxies->std, ce);
	proxies->std.handlers = &proxies_handlers;
	return &proxies->std;
}

static void
proxies_free(zend_object *object)
{
	struct proxies_object *proxies = OBJECT(proxies_object, object);

	if (proxies->networks)
		efree(proxies->networks);
	zend_object_std_dtor(object);
}

void
rlp_proxies_init(void)
{
	memcpy(&proxies_handlers, &std_object_handlers, sizeof proxies_handlers);
	proxies_handlers.offset = XtOffsetOf(struct proxies_object, std);
	proxies_handlers.free_obj = proxies_free;
	proxies_handlers.clone_obj = NULL;
}

static bool
take_networks(struct proxies_object *p, HashTable *networks)
{
	size_t i = 0;
	zval *text;

	p->networks = safe_emalloc(zend_hash_num_elements(networks) + 1, sizeof *p->networks, 0);
	ZEND_HASH_FOREACH_VAL(networks, text)
	{
		ZVAL_DEREF(text);
		if (Z_TYPE_P(text) != IS_STRING ||
		    rl_http_network(Z_STRVAL_P(text), &p->networks[i++]) < 0) {
			zend_argument_value_error(
				1,
				"must have networks, addresses or \"unix:\"; one is none of these");
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	p->trust.networks = p->networks;
	p->trust.count = i;
	return true;
}

ZEND_METHOD(Rl_Proxies, __construct)
{
	static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};
	struct proxies_object *p = THIS(proxies_object);
	zend_long v4 = 0, v6 = 0;
	HashTable *networks = NULL;
	zend_string *field = NULL;
	int number;

	ZEND_PARSE_PARAMETERS_START(0, 4)
	Z_PARAM_OPTIONAL
	Z_PARAM_ARRAY_HT(networks)
	Z_PARAM_STR(field)
	Z_PARAM_LONG(v4)
	Z_PARAM_LONG(v6)
	ZEND_PARSE_PARAMETERS_END();
	number = field ? rlb_word(fields, ZSTR_VAL(field), ZSTR_LEN(field)) : 0;
	if (p->networks) {
		zend_throw_error(NULL, "the networks are known already");
	} else if (number < 0) {
		zend_argument_value_error(2, "must be \"x-forwarded-for\" or \"forwarded\"");
	} else if (v4 < 0 || v4 > 32 || v6 < 0 || v6 > 128) {
		zend_argument_value_error(v4 < 0 || v4 > 32 ? 3 : 4, "must be bits of an address");
	} else if (take_networks(p, networks ? networks : (HashTable *)&zend_empty_array)) {
		p->trust.field = (enum rl_http_field)number;
		p->trust.prefix_v4 = (unsigned)v4;
		p->trust.prefix_v6 = (unsigned)v6;
	}
}

/* A string is one line, an array has several, null none. */
static struct rl_http_value *
lines_of(zval *lines, size_t *count)
{
	struct rl_http_value *values;
	zval *line;

	*count = 0;
	if (!lines || Z_TYPE_P(lines) == IS_NULL)
		return emalloc(sizeof *values);
	if (Z_TYPE_P(lines) != IS_ARRAY) {
		values = emalloc(sizeof *values);
		values[(*count)++] = (struct rl_http_value){Z_STRVAL_P(lines), Z_STRLEN_P(lines)};
		return values;
	}
	values = safe_emalloc(zend_hash_num_elements(Z_ARRVAL_P(lines)) + 1, sizeof *values, 0);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(lines), line)
	{
		ZVAL_DEREF(line);
		if (Z_TYPE_P(line) == IS_STRING)
			values[(*count)++] =
				(struct rl_http_value){Z_STRVAL_P(line), Z_STRLEN_P(line)};
	}
	ZEND_HASH_FOREACH_END();
	return values;
}

ZEND_METHOD(Rl_Proxies, find)
{
	struct proxies_object *p = THIS(proxies_object);
	struct rl_http_client client;
	struct rl_http_value *values;
	zval *lines = NULL;
	zend_string *peer;
	size_t count;
	int error;

	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_STR(peer)
	Z_PARAM_OPTIONAL
	Z_PARAM_ZVAL(lines)
	ZEND_PARSE_PARAMETERS_END();
	if (lines && Z_TYPE_P(lines) != IS_NULL && Z_TYPE_P(lines) != IS_STRING &&
	    Z_TYPE_P(lines) != IS_ARRAY) {
		zend_argument_type_error(2, "must be of type array|string|null, %s given",
		                         zend_zval_type_name(lines));
		RETURN_THROWS();
	}
	values = lines_of(lines, &count);
	error = rl_http_client(&p->trust, (struct rl_http_value){ZSTR_VAL(peer), ZSTR_LEN(peer)},
	                       values, count, &client);
	efree(values);
	if (error < 0) {
		zend_argument_value_error(1, "must be an address");
		RETURN_THROWS();
	}
	array_init(return_value);
	add_assoc_string(return_value, "address", client.address);
	add_assoc_string(return_value, "end", rlb_client_end((int)client.end));
	add_assoc_long(return_value, "hops", client.hops);
}
