/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PHP_RL_H
#define PHP_RL_H

/* The extension: its classes, and what each file makes of it. */

#include <php.h>

#define PHP_RL_VERSION "0.9.0"

extern zend_module_entry rl_module_entry;
extern zend_class_entry *rlp_exception_ce, *rlp_denied_ce, *rlp_segment_ce, *rlp_rule_ce,
	*rlp_result_ce, *rlp_counters_ce, *rlp_proxies_ce;

#define OBJECT(type, object) ((struct type *)((char *)(object)-XtOffsetOf(struct type, std)))
#define THIS(type) OBJECT(type, Z_OBJ_P(ZEND_THIS))

/* The objects of classes, and their handlers. */
zend_object *rlp_rule_create(zend_class_entry *ce);
void rlp_rule_init(void);
zend_object *rlp_result_create(zend_class_entry *ce);
void rlp_result_init(void);
zend_object *rlp_segment_create(zend_class_entry *ce);
void rlp_segment_init(void);
zend_object *rlp_proxies_create(zend_class_entry *ce);
void rlp_proxies_init(void);

#endif
