/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Error, with the number and the name of what librl returned. */
#include <stdarg.h>

#include "rb_error.h"
#include "rl_ruby.h"
#include "words.h"

static VALUE error_class;

static VALUE
error_new(int error, VALUE text)
{
	char digits[RLB_ERROR_SIZE];
	VALUE e = rb_class_new_instance(1, &text, error_class);

	rb_iv_set(e, "@errno", INT2NUM(error < 0 ? -error : error));
	rb_iv_set(e, "@code", rb_str_new_cstr(rlb_error(error, digits)));
	return e;
}

void
rlr_raise(int error, const char *format, ...)
{
	char why[RLB_WHY_SIZE];
	va_list args;
	VALUE text;

	va_start(args, format);
	text = rb_vsprintf(format, args);
	va_end(args);
	rb_str_cat_cstr(text, ": ");
	rb_str_cat_cstr(text, rlb_why(error, why));
	rb_exc_raise(error_new(error, text));
}

void
rlr_raise_text(int error, const char *text)
{
	rb_exc_raise(error_new(error, rb_str_new_cstr(text)));
}

/* RL::Error.of(code as Integer, what): for what Ruby code of this library finds out by itself. */
static VALUE
error_of(VALUE self, VALUE number, VALUE what)
{
	int error = NUM2INT(number);
	char why[RLB_WHY_SIZE];

	(void)self;
	return error_new(error, rb_sprintf("%" PRIsVALUE ": %s", what, rlb_why(error, why)));
}

void
rlr_init_error(void)
{
	error_class = rb_define_class_under(rlr_module, "Error", rb_eStandardError);
	rb_define_singleton_method(error_class, "of", error_of, 2);
	rb_define_attr(error_class, "errno", 1, 0);
	rb_define_attr(error_class, "code", 1, 0);
}
