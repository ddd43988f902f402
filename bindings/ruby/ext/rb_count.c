/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RL::Count: what a call of counters answers. Of its own type, for a Struct of four members takes
 * as long to make as the call itself.
 */
#include "rb_result.h"
#include "rl_ruby.h"

static VALUE count_class;

struct answer {
	struct rl_count count;
	int done;
};

static size_t
answer_size(const void *data)
{
	(void)data;
	return sizeof(struct answer);
}

static const rb_data_type_t answer_type = {
	.wrap_struct_name = "RL::Count",
	.function = {.dfree = RUBY_DEFAULT_FREE, .dsize = answer_size},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE
rlr_count_new(int done, const struct rl_count *count)
{
	struct answer *answer = ALLOC(struct answer);

	*answer = (struct answer){*count, done};
	return TypedData_Wrap_Struct(count_class, &answer_type, answer);
}

static const struct answer *
answer_get(VALUE self)
{
	return rb_check_typeddata(self, &answer_type);
}

static VALUE
count_done(VALUE self)
{
	return answer_get(self)->done ? Qtrue : Qfalse;
}

static VALUE
count_value(VALUE self)
{
	return ULL2NUM(answer_get(self)->count.value);
}

static VALUE
count_expires_after_ns(VALUE self)
{
	return ULL2NUM(answer_get(self)->count.expires_after_ns);
}

static VALUE
count_is_new(VALUE self)
{
	return answer_get(self)->count.is_new ? Qtrue : Qfalse;
}

void
rlr_init_count(void)
{
	count_class = rb_define_class_under(rlr_module, "Count", rb_cObject);
	rb_undef_alloc_func(count_class);
	rb_define_method(count_class, "done", count_done, 0);
	rb_define_method(count_class, "value", count_value, 0);
	rb_define_method(count_class, "expires_after_ns", count_expires_after_ns, 0);
	rb_define_method(count_class, "is_new", count_is_new, 0);
}
