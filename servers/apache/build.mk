# SPDX-License-Identifier: BSD-2-Clause
# mod_rl, for Apache httpd. See the README here; `make check-apache`, `make bench-apache`, `make torture-apache`.

APACHE_NEED := apache2-dev apache2-bin apache2-utils libapache2-mod-evasive nghttp2-client python3 curl
APACHE_BENCH_NEED := libapache2-mod-qos valgrind
NEED_ADAPTERS  += $(APACHE_NEED)
ADAPTER_CHECKS += 'servers/apache/tests/run.sh build/apache'

APACHE_DIR := servers/apache
APACHE_SRC := $(call files,$(APACHE_DIR)/*.c)
APACHE_COMMON := servers/common/directive $(addprefix bindings/common/,limit options text values words)
APXS       ?= apxs
# Where Apache wants modules; asked when it is used, for apxs may still be to be installed.
APACHE_MODULES = $(or $(shell $(APXS) -q LIBEXECDIR 2>/dev/null),$(LIBDIR)/apache2/modules)

# Apache's headers are not ours to warn of.
APACHE_FLAGS = -std=gnu11 -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -MMD -MP -Iinclude -I$(APACHE_DIR) \
               -isystem $(shell $(APXS) -q INCLUDEDIR) $(shell apr-1-config --cppflags) \
               $(patsubst -I%,-isystem %,$(shell apr-1-config --includes))

# $(1) directory, $(2) compiler and its flags, $(3) flags to link with, $(4) librl
define APACHE_VARIANT
$(1)/o/%.o: $(APACHE_DIR)/%.c | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $$(APACHE_FLAGS) $$(CPPFLAGS) -c -o $$@ $$<

$(1)/o/common/%.o: %.c | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $$(APACHE_FLAGS) $$(CPPFLAGS) -c -o $$@ $$<

$(1)/mod_rl.so: $(APACHE_SRC:$(APACHE_DIR)/%.c=$(1)/o/%.o) $(APACHE_COMMON:%=$(1)/o/common/%.o) $(4)
	$$(call say,LINK)
	$$(Q)$(2) $(3) $$(LDFLAGS) -shared -o $$@ $$^

-include $$(wildcard $(1)/o/*.d $(1)/o/common/*/common/*.d)
endef

$(eval $(call APACHE_VARIANT,build/apache,$$(CC) $(HARDEN) $(FORTIFY) $$(CFLAGS),$(RELRO),build/librl.so.1))
$(eval $(call APACHE_VARIANT,build/apache/asan,gcc -O1 -g $(SAN),,build/v/asan/librl.a))
$(eval $(call APACHE_VARIANT,build/apache/clang,clang -O2 -g,,build/librl.a))

build-apache: build/apache/mod_rl.so

build/apache/o/tests/fields.o: $(APACHE_DIR)/tests/fields.c build/flags | build/need
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(RL_FLAGS) $(CFLAGS) $(CPPFLAGS) -Iinclude -c -o $@ $<

build/apache/fields: build/apache/o/tests/fields.o build/librl.a
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^

# Everything that the tests start. With clang, for what it warns of.
APACHE_TESTED := build-apache build/apache/asan/mod_rl.so build/apache/clang/mod_rl.so build/apache/fields build/rlctl build/rld
ADAPTER_BUILDS += $(APACHE_TESTED)

.PHONY: bench-apache torture-apache
check-apache: $(APACHE_TESTED)
	@tests/support/run.sh '$(APACHE_DIR)/tests/run.sh build/apache'

# All tests with sanitizers, and storms of requests, restarts and kills.
torture-apache: $(APACHE_TESTED)
	@tests/support/need.sh --install $(APACHE_NEED)
	@RL_APACHE_ALL=1 $(APACHE_DIR)/tests/run.sh build/apache
	@RL_APACHE_BUILD=build/apache python3 $(APACHE_DIR)/tests/storm.py $$(($(MINUTES) * 20))
	@RL_APACHE_BUILD=build/apache/asan python3 $(APACHE_DIR)/tests/storm.py $$(($(MINUTES) * 10))

bench-apache: build-apache
	@tests/support/need.sh --install $(APACHE_NEED) $(APACHE_BENCH_NEED)
	@python3 $(APACHE_DIR)/bench/bench.py

install-apache: build-apache
	install -D -m 644 build/apache/mod_rl.so $(DESTDIR)$(APACHE_MODULES)/mod_rl.so
