/* SPDX-License-Identifier: BSD-2-Clause */
/* clang-format off */
/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 9ee028cf5190309d9e257e82c0ced353297b4472 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Rl_unlink, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Rl_key_digest, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Rl_rate, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, text, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Exception_getName, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Rl_Segment___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Segment_private, 0, 0, Rl\\Segment, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Segment_rule, 0, 1, Rl\\Rule, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, limit, MAY_BE_STRING|MAY_BE_ARRAY|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, keep, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Segment_counters, 0, 1, Rl\\Counters, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, create, _IS_BOOL, 0, "true")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_checkAll, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, items, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, keep, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_checkMany, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, items, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_ban, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, rule, Rl\\Rule, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, match, IS_STRING, 0, "\"key\"")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, for, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, until, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Segment_allow arginfo_class_Rl_Segment_ban

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_unban, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_OBJ_INFO_WITH_DEFAULT_VALUE(0, rule, Rl\\Rule, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, match, IS_STRING, 0, "\"key\"")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_bans, 0, 0, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_resetMatching, 0, 0, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, key, IS_STRING, 1, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, rule, Rl\\Rule|Rl\\Counters, MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, match, IS_STRING, 0, "\"key\"")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_forget, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_look, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_nowNs, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Segment_giveBack arginfo_class_Rl_Segment_nowNs

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_info, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Segment_ruleNames arginfo_class_Rl_Segment_info

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Segment_close, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Rl_Rule___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_allows, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, cost, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Rule_check, 0, 1, Rl\\Result, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, cost, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, capacity, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, burst, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, undelayed, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, keep, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Rule_peek, 0, 1, Rl\\Result, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Rl_Rule_reserve, 0, 1, Rl\\Result, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, cost, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, maxWait, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, capacity, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, burst, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, undelayed, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_checkLimits, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, cost, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_hold, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, do, IS_CALLABLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, units, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_spend, 0, 3, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, estimate, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, do, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_refund, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, cost, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, capacity, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Rule_reset, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Rule_limits arginfo_class_Rl_Segment_info

#define arginfo_class_Rl_Rule_stats arginfo_class_Rl_Segment_info

#define arginfo_class_Rl_Rule_name arginfo_class_Rl_Exception_getName

#define arginfo_class_Rl_Result___construct arginfo_class_Rl_Rule___construct

#define arginfo_class_Rl_Result_verdict arginfo_class_Rl_Exception_getName

#define arginfo_class_Rl_Result_isAllowed arginfo_class_Rl_Segment_look

#define arginfo_class_Rl_Result_isDenied arginfo_class_Rl_Segment_look

#define arginfo_class_Rl_Result_passes arginfo_class_Rl_Segment_look

#define arginfo_class_Rl_Result_isShadowDenied arginfo_class_Rl_Segment_look

#define arginfo_class_Rl_Result_reason arginfo_class_Rl_Exception_getName

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_error, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Result_index arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_limit arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_remaining arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_used arginfo_class_Rl_Segment_nowNs

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_retryAfter, 0, 0, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Result_retryAfterNs arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_resetAfter arginfo_class_Rl_Result_retryAfter

#define arginfo_class_Rl_Result_resetAfterNs arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_delay arginfo_class_Rl_Result_retryAfter

#define arginfo_class_Rl_Result_delayNs arginfo_class_Rl_Segment_nowNs

#define arginfo_class_Rl_Result_window arginfo_class_Rl_Result_retryAfter

#define arginfo_class_Rl_Result_windowNs arginfo_class_Rl_Segment_nowNs

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_headers, 0, 0, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, unix, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, set, IS_STRING, 0, "\"ietf\"")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_problem, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, status, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_refund, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, holds, _IS_BOOL, 0, "true")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Result_settle, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, actual, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Result_release arginfo_class_Rl_Segment_look

#define arginfo_class_Rl_Counters___construct arginfo_class_Rl_Rule___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Counters_add, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, amount, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, lifetime, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Counters_get, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Counters_set, 0, 2, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, lifetime, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Counters_setNew arginfo_class_Rl_Counters_set

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Counters_touch, 0, 2, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, lifetime, IS_DOUBLE, 1)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Counters_drop, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

#define arginfo_class_Rl_Counters_reset arginfo_class_Rl_Rule_reset

#define arginfo_class_Rl_Counters_name arginfo_class_Rl_Exception_getName

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Rl_Proxies___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, networks, IS_ARRAY, 0, "[]")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, field, IS_STRING, 0, "\"x-forwarded-for\"")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, prefixV4, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, prefixV6, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Rl_Proxies_find, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, peer, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, lines, MAY_BE_STRING|MAY_BE_ARRAY|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Rl_unlink);
ZEND_FUNCTION(Rl_key_digest);
ZEND_FUNCTION(Rl_rate);
ZEND_METHOD(Rl_Exception, getName);
ZEND_METHOD(Rl_Segment, __construct);
ZEND_METHOD(Rl_Segment, private);
ZEND_METHOD(Rl_Segment, rule);
ZEND_METHOD(Rl_Segment, counters);
ZEND_METHOD(Rl_Segment, checkAll);
ZEND_METHOD(Rl_Segment, checkMany);
ZEND_METHOD(Rl_Segment, ban);
ZEND_METHOD(Rl_Segment, allow);
ZEND_METHOD(Rl_Segment, unban);
ZEND_METHOD(Rl_Segment, bans);
ZEND_METHOD(Rl_Segment, resetMatching);
ZEND_METHOD(Rl_Segment, forget);
ZEND_METHOD(Rl_Segment, look);
ZEND_METHOD(Rl_Segment, nowNs);
ZEND_METHOD(Rl_Segment, giveBack);
ZEND_METHOD(Rl_Segment, info);
ZEND_METHOD(Rl_Segment, ruleNames);
ZEND_METHOD(Rl_Segment, close);
ZEND_METHOD(Rl_Rule, __construct);
ZEND_METHOD(Rl_Rule, allows);
ZEND_METHOD(Rl_Rule, check);
ZEND_METHOD(Rl_Rule, peek);
ZEND_METHOD(Rl_Rule, reserve);
ZEND_METHOD(Rl_Rule, checkLimits);
ZEND_METHOD(Rl_Rule, hold);
ZEND_METHOD(Rl_Rule, spend);
ZEND_METHOD(Rl_Rule, refund);
ZEND_METHOD(Rl_Rule, reset);
ZEND_METHOD(Rl_Rule, limits);
ZEND_METHOD(Rl_Rule, stats);
ZEND_METHOD(Rl_Rule, name);
ZEND_METHOD(Rl_Result, __construct);
ZEND_METHOD(Rl_Result, verdict);
ZEND_METHOD(Rl_Result, isAllowed);
ZEND_METHOD(Rl_Result, isDenied);
ZEND_METHOD(Rl_Result, passes);
ZEND_METHOD(Rl_Result, isShadowDenied);
ZEND_METHOD(Rl_Result, reason);
ZEND_METHOD(Rl_Result, error);
ZEND_METHOD(Rl_Result, index);
ZEND_METHOD(Rl_Result, limit);
ZEND_METHOD(Rl_Result, remaining);
ZEND_METHOD(Rl_Result, used);
ZEND_METHOD(Rl_Result, retryAfter);
ZEND_METHOD(Rl_Result, retryAfterNs);
ZEND_METHOD(Rl_Result, resetAfter);
ZEND_METHOD(Rl_Result, resetAfterNs);
ZEND_METHOD(Rl_Result, delay);
ZEND_METHOD(Rl_Result, delayNs);
ZEND_METHOD(Rl_Result, window);
ZEND_METHOD(Rl_Result, windowNs);
ZEND_METHOD(Rl_Result, headers);
ZEND_METHOD(Rl_Result, problem);
ZEND_METHOD(Rl_Result, refund);
ZEND_METHOD(Rl_Result, settle);
ZEND_METHOD(Rl_Result, release);
ZEND_METHOD(Rl_Counters, __construct);
ZEND_METHOD(Rl_Counters, add);
ZEND_METHOD(Rl_Counters, get);
ZEND_METHOD(Rl_Counters, set);
ZEND_METHOD(Rl_Counters, setNew);
ZEND_METHOD(Rl_Counters, touch);
ZEND_METHOD(Rl_Counters, drop);
ZEND_METHOD(Rl_Counters, reset);
ZEND_METHOD(Rl_Counters, name);
ZEND_METHOD(Rl_Proxies, __construct);
ZEND_METHOD(Rl_Proxies, find);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Rl", unlink, Rl_unlink, arginfo_Rl_unlink)
	ZEND_NS_FALIAS("Rl", key_digest, Rl_key_digest, arginfo_Rl_key_digest)
	ZEND_NS_FALIAS("Rl", rate, Rl_rate, arginfo_Rl_rate)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Exception_methods[] = {
	ZEND_ME(Rl_Exception, getName, arginfo_class_Rl_Exception_getName, ZEND_ACC_PUBLIC|ZEND_ACC_FINAL)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Denied_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Segment_methods[] = {
	ZEND_ME(Rl_Segment, __construct, arginfo_class_Rl_Segment___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, private, arginfo_class_Rl_Segment_private, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Rl_Segment, rule, arginfo_class_Rl_Segment_rule, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, counters, arginfo_class_Rl_Segment_counters, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, checkAll, arginfo_class_Rl_Segment_checkAll, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, checkMany, arginfo_class_Rl_Segment_checkMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, ban, arginfo_class_Rl_Segment_ban, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, allow, arginfo_class_Rl_Segment_allow, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, unban, arginfo_class_Rl_Segment_unban, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, bans, arginfo_class_Rl_Segment_bans, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, resetMatching, arginfo_class_Rl_Segment_resetMatching, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, forget, arginfo_class_Rl_Segment_forget, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, look, arginfo_class_Rl_Segment_look, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, nowNs, arginfo_class_Rl_Segment_nowNs, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, giveBack, arginfo_class_Rl_Segment_giveBack, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, info, arginfo_class_Rl_Segment_info, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, ruleNames, arginfo_class_Rl_Segment_ruleNames, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Segment, close, arginfo_class_Rl_Segment_close, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Rule_methods[] = {
	ZEND_ME(Rl_Rule, __construct, arginfo_class_Rl_Rule___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Rl_Rule, allows, arginfo_class_Rl_Rule_allows, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, check, arginfo_class_Rl_Rule_check, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, peek, arginfo_class_Rl_Rule_peek, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, reserve, arginfo_class_Rl_Rule_reserve, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, checkLimits, arginfo_class_Rl_Rule_checkLimits, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, hold, arginfo_class_Rl_Rule_hold, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, spend, arginfo_class_Rl_Rule_spend, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, refund, arginfo_class_Rl_Rule_refund, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, reset, arginfo_class_Rl_Rule_reset, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, limits, arginfo_class_Rl_Rule_limits, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, stats, arginfo_class_Rl_Rule_stats, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Rule, name, arginfo_class_Rl_Rule_name, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Result_methods[] = {
	ZEND_ME(Rl_Result, __construct, arginfo_class_Rl_Result___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Rl_Result, verdict, arginfo_class_Rl_Result_verdict, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, isAllowed, arginfo_class_Rl_Result_isAllowed, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, isDenied, arginfo_class_Rl_Result_isDenied, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, passes, arginfo_class_Rl_Result_passes, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, isShadowDenied, arginfo_class_Rl_Result_isShadowDenied, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, reason, arginfo_class_Rl_Result_reason, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, error, arginfo_class_Rl_Result_error, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, index, arginfo_class_Rl_Result_index, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, limit, arginfo_class_Rl_Result_limit, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, remaining, arginfo_class_Rl_Result_remaining, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, used, arginfo_class_Rl_Result_used, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, retryAfter, arginfo_class_Rl_Result_retryAfter, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, retryAfterNs, arginfo_class_Rl_Result_retryAfterNs, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, resetAfter, arginfo_class_Rl_Result_resetAfter, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, resetAfterNs, arginfo_class_Rl_Result_resetAfterNs, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, delay, arginfo_class_Rl_Result_delay, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, delayNs, arginfo_class_Rl_Result_delayNs, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, window, arginfo_class_Rl_Result_window, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, windowNs, arginfo_class_Rl_Result_windowNs, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, headers, arginfo_class_Rl_Result_headers, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, problem, arginfo_class_Rl_Result_problem, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, refund, arginfo_class_Rl_Result_refund, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, settle, arginfo_class_Rl_Result_settle, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Result, release, arginfo_class_Rl_Result_release, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Counters_methods[] = {
	ZEND_ME(Rl_Counters, __construct, arginfo_class_Rl_Counters___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Rl_Counters, add, arginfo_class_Rl_Counters_add, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, get, arginfo_class_Rl_Counters_get, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, set, arginfo_class_Rl_Counters_set, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, setNew, arginfo_class_Rl_Counters_setNew, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, touch, arginfo_class_Rl_Counters_touch, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, drop, arginfo_class_Rl_Counters_drop, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, reset, arginfo_class_Rl_Counters_reset, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Counters, name, arginfo_class_Rl_Counters_name, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Rl_Proxies_methods[] = {
	ZEND_ME(Rl_Proxies, __construct, arginfo_class_Rl_Proxies___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Rl_Proxies, find, arginfo_class_Rl_Proxies_find, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static void register_rl_symbols(int module_number)
{
	REGISTER_LONG_CONSTANT("Rl\\NEVER_NS", ZEND_LONG_MAX, CONST_PERSISTENT);
	REGISTER_STRING_CONSTANT("Rl\\VERSION", PHP_RL_VERSION, CONST_PERSISTENT);
}

static zend_class_entry *register_class_Rl_Exception(zend_class_entry *class_entry_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Exception", class_Rl_Exception_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);

	zval property_name_default_value;
	ZVAL_EMPTY_STRING(&property_name_default_value);
	zend_string *property_name_name = zend_string_init("name", sizeof("name") - 1, 1);
	zend_declare_typed_property(class_entry, property_name_name, &property_name_default_value, ZEND_ACC_PROTECTED, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_name_name);

	return class_entry;
}

static zend_class_entry *register_class_Rl_Denied(zend_class_entry *class_entry_RuntimeException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Denied", class_Rl_Denied_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);

	zend_string *property_result_class_Rl_Result = zend_string_init("Rl\\Result", sizeof("Rl\\Result")-1, 1);
	zval property_result_default_value;
	ZVAL_UNDEF(&property_result_default_value);
	zend_string *property_result_name = zend_string_init("result", sizeof("result") - 1, 1);
	zend_declare_typed_property(class_entry, property_result_name, &property_result_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_result_class_Rl_Result, 0, 0));
	zend_string_release(property_result_name);

	return class_entry;
}

static zend_class_entry *register_class_Rl_Segment(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Segment", class_Rl_Segment_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL;

	return class_entry;
}

static zend_class_entry *register_class_Rl_Rule(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Rule", class_Rl_Rule_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Rl_Result(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Result", class_Rl_Result_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Rl_Counters(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Counters", class_Rl_Counters_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Rl_Proxies(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Rl", "Proxies", class_Rl_Proxies_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}
