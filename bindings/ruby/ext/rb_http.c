/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Proxies: the client behind proxies. */
#include <errno.h>
#include <rl_http.h>

#include "rb_value.h"
#include "rl_ruby.h"
#include "words.h"

struct proxies {
	struct rl_http_trust trust;
	struct rl_http_network *networks;
};

static void
proxies_free(void *data)
{
	xfree(((struct proxies *)data)->networks);
	xfree(data);
}

static const rb_data_type_t proxies_type = {
	.wrap_struct_name = "RL::Proxies",
	.function = {.dfree = proxies_free},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE
proxies_alloc(VALUE klass)
{
	struct proxies *proxies;

	return TypedData_Make_Struct(klass, struct proxies, &proxies_type, proxies);
}

static unsigned
prefix_of(VALUE options, const char *name, unsigned most)
{
	VALUE bits = rlr_get(options, name);

	return NIL_P(bits) ? 0 : (unsigned)rlr_count(bits, most, name);
}

static enum rl_http_field
field_of(VALUE options)
{
	static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};
	VALUE value = rlr_get(options, "field"), text;
	int number;

	if (NIL_P(value))
		return RL_HTTP_X_FORWARDED_FOR;
	text = rb_obj_as_string(value);
	number = rlb_word(fields, RSTRING_PTR(text), (unsigned long)RSTRING_LEN(text));
	if (number < 0)
		rb_raise(rb_eArgError,
		         "field: \"x-forwarded-for\" or \"forwarded\", got %" PRIsVALUE,
		         rb_inspect(value));
	return (enum rl_http_field)number;
}

static VALUE
proxies_initialize(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"field", "prefix_v4", "prefix_v6", NULL};
	struct proxies *p = rb_check_typeddata(self, &proxies_type);
	VALUE networks, options, text;
	long count;

	rb_scan_args(argc, argv, "1:", &networks, &options);
	rlr_only(options, names);
	Check_Type(networks, T_ARRAY);
	count = RARRAY_LEN(networks);
	xfree(p->networks);
	p->networks = ALLOC_N(struct rl_http_network, count > 0 ? count : 1);
	p->trust = (struct rl_http_trust){.networks = p->networks};
	for (long i = 0; i < count; i++) {
		text = rb_ary_entry(networks, i);
		if (rl_http_network(StringValueCStr(text), &p->networks[i]) < 0)
			rb_raise(rb_eArgError, "%" PRIsVALUE " is no network, address or \"unix:\"",
			         rb_inspect(text));
	}
	p->trust.count = (size_t)count;
	p->trust.field = field_of(options);
	p->trust.prefix_v4 = prefix_of(options, "prefix_v4", 32);
	p->trust.prefix_v6 = prefix_of(options, "prefix_v6", 128);
	return self;
}

/*
 * A String is one line, an Array has several, nil none. The Strings are the caller's alone: none of
 * them changes.
 */
static VALUE
lines_of(VALUE lines)
{
	VALUE own = rb_ary_new(), line;

	lines = RB_TYPE_P(lines, T_STRING) ? rb_ary_new_from_args(1, lines) : rb_Array(lines);
	for (long i = 0; i < RARRAY_LEN(lines); i++) {
		line = rb_ary_entry(lines, i);
		StringValue(line);
		rb_ary_push(own, rb_str_new_frozen(line));
	}
	return own;
}

static struct rl_http_value
bytes_of(VALUE string)
{
	return (struct rl_http_value){RSTRING_PTR(string), (size_t)RSTRING_LEN(string)};
}

/* find(peer, lines of the field) => [address, :found, hops] */
static VALUE
proxies_find(VALUE self, VALUE peer, VALUE field)
{
	struct proxies *p = rb_check_typeddata(self, &proxies_type);
	VALUE lines = lines_of(field), buffer;
	size_t count = (size_t)RARRAY_LEN(lines);
	struct rl_http_client client;
	struct rl_http_value *values, from;

	StringValue(peer);
	values = rb_alloc_tmp_buffer(&buffer, (long)((count + 1) * sizeof *values));
	from = bytes_of(peer); /* from here on nothing is allocated that could move a String */
	for (size_t i = 0; i < count; i++)
		values[i] = bytes_of(RARRAY_AREF(lines, (long)i));
	if (rl_http_client(&p->trust, from, values, count, &client) < 0)
		rb_raise(rb_eArgError, "peer: %" PRIsVALUE " is no address", rb_inspect(peer));
	rb_free_tmp_buffer(&buffer);
	RB_GC_GUARD(lines);
	return rb_ary_new_from_args(3, rb_str_new_cstr(client.address),
	                            ID2SYM(rb_intern(rlb_client_end((int)client.end))),
	                            UINT2NUM(client.hops));
}

void
rlr_init_http(void)
{
	VALUE klass = rb_define_class_under(rlr_module, "Proxies", rb_cObject);

	rb_define_alloc_func(klass, proxies_alloc);
	rb_define_method(klass, "initialize", proxies_initialize, -1);
	rb_define_method(klass, "find", proxies_find, 2);
}
