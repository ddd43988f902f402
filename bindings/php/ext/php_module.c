/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension rl: its classes, and the segments that a process has open. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "php_object.h"
#include "php_rl.h"
#include <ext/spl/spl_exceptions.h>
#include <ext/standard/info.h>
#include <zend_exceptions.h>

#include "rl_arginfo.h"

ZEND_DECLARE_MODULE_GLOBALS(rl)

zend_class_entry *rlp_exception_ce, *rlp_denied_ce, *rlp_segment_ce, *rlp_rule_ce, *rlp_result_ce,
	*rlp_counters_ce, *rlp_proxies_ce;

static PHP_GINIT_FUNCTION(rl)
{
#if defined(COMPILE_DL_RL) && defined(ZTS)
	ZEND_TSRMLS_CACHE_UPDATE();
#endif
	zend_hash_init(&rl_globals->handles, 8, NULL, rlp_handle_free, 1);
}

/* The process ends: it gives back what it has taken, and its seat. */
static PHP_GSHUTDOWN_FUNCTION(rl)
{
	zend_hash_destroy(&rl_globals->handles);
}

static PHP_MINIT_FUNCTION(rl)
{
	register_rl_symbols(module_number);
	rlp_exception_ce = register_class_Rl_Exception(spl_ce_RuntimeException);
	rlp_denied_ce = register_class_Rl_Denied(spl_ce_RuntimeException);
	rlp_segment_ce = register_class_Rl_Segment();
	rlp_segment_ce->create_object = rlp_segment_create;
	rlp_segment_ce->ce_flags |= ZEND_ACC_NOT_SERIALIZABLE;
	rlp_rule_ce = register_class_Rl_Rule();
	rlp_rule_ce->create_object = rlp_rule_create;
	rlp_result_ce = register_class_Rl_Result();
	rlp_result_ce->create_object = rlp_result_create;
	rlp_counters_ce = register_class_Rl_Counters();
	rlp_counters_ce->create_object = rlp_rule_create;
	rlp_proxies_ce = register_class_Rl_Proxies();
	rlp_proxies_ce->create_object = rlp_proxies_create;
	rlp_segment_init();
	rlp_rule_init();
	rlp_result_init();
	rlp_proxies_init();
	return SUCCESS;
}

static PHP_MINFO_FUNCTION(rl)
{
	struct handle *handle;

	php_info_print_table_start();
	php_info_print_table_row(2, "rl", "enabled");
	php_info_print_table_row(2, "version", PHP_RL_VERSION);
	ZEND_HASH_FOREACH_PTR(&RL_G(handles), handle)
	{
		php_info_print_table_row(2, "segment", handle->s.name);
	}
	ZEND_HASH_FOREACH_END();
	php_info_print_table_end();
}

zend_module_entry rl_module_entry = {
	STANDARD_MODULE_HEADER,
	"rl",
	ext_functions,
	PHP_MINIT(rl),
	NULL,
	NULL,
	NULL,
	PHP_MINFO(rl),
	PHP_RL_VERSION,
	PHP_MODULE_GLOBALS(rl),
	PHP_GINIT(rl),
	PHP_GSHUTDOWN(rl),
	NULL,
	STANDARD_MODULE_PROPERTIES_EX,
};

#ifdef COMPILE_DL_RL
#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif
ZEND_GET_MODULE(rl)
#endif
