dnl SPDX-License-Identifier: BSD-2-Clause
dnl The extension rl, on the librl of this system, or where there is none on the sources beside it (librl/, as make php-source
dnl has them). RL_INCLUDE and RL_LIBRARY name one that is not installed.
PHP_ARG_ENABLE([rl], [whether to enable rl], [AS_HELP_STRING([--enable-rl], [Rate limits in shared memory])], [yes])
if test "$PHP_RL" != "no"; then
  AS_IF([test -n "$RL_LIBRARY"],
    [PHP_ADD_INCLUDE([$RL_INCLUDE])
     RL_SHARED_LIBADD="-Wl,$RL_LIBRARY"],
    [PKG_CHECK_MODULES([LIBRL], [rl >= 0.9],
      [PHP_EVAL_INCLINE([$LIBRL_CFLAGS])
       PHP_EVAL_LIBLINE([$LIBRL_LIBS], [RL_SHARED_LIBADD])],
      [AS_IF([test ! -d PHP_EXT_SRCDIR()/librl], [AC_MSG_ERROR([no librl: install librl-dev, or say RL_INCLUDE and RL_LIBRARY])])
       PHP_ADD_INCLUDE([PHP_EXT_SRCDIR()/librl/include])
       PHP_ADD_INCLUDE([PHP_EXT_SRCDIR()/librl/libshm])
       RL_SOURCES=`cd PHP_EXT_SRCDIR() && echo librl/libshm/*/*.c`
       RL_CFLAGS="$RL_CFLAGS -std=gnu11 -D_GNU_SOURCE -DRL_ATOMIC_C11 -DRL_VERSION=\\\"`cat PHP_EXT_SRCDIR()/VERSION`\\\""
       AS_CASE([$host_cpu], [x86_64], [RL_CFLAGS="$RL_CFLAGS -mcx16"])])])
  PHP_SUBST([RL_SHARED_LIBADD])
  PHP_ADD_INCLUDE([PHP_EXT_SRCDIR()/common])
  PHP_NEW_EXTENSION([rl], [php_module.c php_value.c php_handle.c php_options.c php_segment.c php_rule.c php_decide.c dnl
    php_batch.c php_result.c php_counters.c php_bans.c php_info.c php_http.c dnl
    common/text.c common/values.c common/limit.c common/options.c common/about.c common/words.c common/segment.c dnl
    common/headers.c common/charges.c $RL_SOURCES],
    [$ext_shared],, [-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 -fvisibility=hidden $RL_CFLAGS])
fi
