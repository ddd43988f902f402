# SPDX-License-Identifier: BSD-2-Clause
# PHP: the extension rl, and classes for Symfony and Laravel in src.
#   make build-php, check-php, install-php; bench-php
#   make php-source      build/php-source/rl-php-VERSION.tar.gz, which PIE builds where librl is not installed
PHP_DIR  := bindings/php
PHP_C    := $(call files,$(PHP_DIR)/ext/*.[ch] bindings/common/*.[ch])
PHP_SRC  := $(call files,$(PHP_DIR)/src/*.php $(PHP_DIR)/src/*/*.php)
PHP_WARN := -Wall -Wextra -Wno-unused-parameter -Werror

NEED_PHP := php-dev php-cli php-mbstring php-fpm php-symfony-rate-limiter php-illuminate-cache php-illuminate-queue php-illuminate-bus php-illuminate-redis php-illuminate-events php-illuminate-routing php-illuminate-http php-redis redis-server php-apcu libapache2-mod-php apache2 pkg-config python3
NEED_ADAPTERS += $(NEED_PHP)

# $(1) directory, $(2) flags, $(3) flags to link with. phpize wants all in one tree. What is linked first is installed;
# the same in modules is for the build tree.
define PHP_VARIANT
$(1)/modules/rl.so: $(PHP_C) $(PHP_DIR)/ext/config.m4 $(PHP_DIR)/build.mk build/librl.so.1 | build/need
	@rm -rf $(1) && mkdir -p $(1)/common
	@cp $(PHP_DIR)/ext/* $(1) && cp bindings/common/*.[ch] $(1)/common
	$$(call say,PHP)
	$$(Q)cd $(1) && { phpize && RL_INCLUDE=$$(CURDIR)/include RL_LIBRARY=$$(CURDIR)/build/librl.so.1 \
		RL_CFLAGS='$$(PHP_WARN) -ffile-prefix-map=$$(CURDIR)=. $(2)' LDFLAGS='$$(LDFLAGS) $(3)' \
		./configure --quiet && env -u MAKEFLAGS $$(MAKE) -j2 && cp -r modules installed && rm rl.la modules/* && env -u MAKEFLAGS $$(MAKE) \
		RL_SHARED_LIBADD="-Wl,$$(CURDIR)/build/librl.so.1 -Wl,-rpath,'\$$$$\$$$$ORIGIN/../..'"; } >build.log 2>&1 || { tail -n 40 build.log; exit 1; }
endef
$(eval $(call PHP_VARIANT,build/php,,))
$(eval $(call PHP_VARIANT,build/php-asan,-O1 -g -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all,-fsanitize=address -fsanitize=undefined))

build/php-asan/no_deepbind.so: $(PHP_DIR)/tests/no_deepbind.c build/php-asan/modules/rl.so
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared -Wall -Wextra -Werror -o $@ $<

build-php: build/php/modules/rl.so

PHP_TESTS := servers phpt asan adapters readme lent off source
ADAPTER_BUILDS += build-php build/php-asan/no_deepbind.so build/rlctl build/rld
PHP_CHECKS := $(PHP_TESTS:%='$(PHP_DIR)/tests/run.sh %') 'bindings/common/tests/jobs/run.py laravel' 'bindings/common/tests/origin.sh php build/php/modules/rl.so'
ADAPTER_CHECKS += $(PHP_CHECKS)

check-php: build-php build/php-asan/no_deepbind.so build/rlctl build/rld
	@tests/support/run.sh $(PHP_CHECKS)

bench-php: build-php build/bindings/check_ns
	@tests/support/need.sh --install php-symfony-cache php-symfony-lock
	@$(PHP_DIR)/tests/run.sh bench

# rl_arginfo.h, anew from the stub: for who changes the stub.
arginfo-php:
	@tests/support/need.sh --install php-dev php-parser
	@$(PHP_DIR)/tests/arginfo.sh $(PHP_DIR)/ext/rl_arginfo.h

# With librl's own sources.
PHP_SOURCE := build/php-source/rl-php-$(VERSION)
php-source:
	@rm -rf $(dir $(PHP_SOURCE)) && mkdir -p $(PHP_SOURCE)/common $(PHP_SOURCE)/librl
	@cp $(PHP_DIR)/ext/* $(PHP_DIR)/README.md LICENSE $(PHP_SOURCE) && cp bindings/common/*.[ch] $(PHP_SOURCE)/common
	@cp -r include libshm $(PHP_SOURCE)/librl && echo $(VERSION) >$(PHP_SOURCE)/VERSION
	@tar -c -z -C $(dir $(PHP_SOURCE)) -f $(PHP_SOURCE).tar.gz $(notdir $(PHP_SOURCE))
.PHONY: php-source

# Where Debian's PHP has extensions, their configuration and libraries, below PREFIX.
PHP_EXT  = $(shell php-config --extension-dir | sed 's|^/usr|$(PREFIX)|')
PHP_MODS ?= $(SYSCONFDIR)/php/$(shell php-config --version | cut -d. -f1,2)/mods-available
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

install-php: build-php
	@install -D -m 644 build/php/installed/rl.so "$(DESTDIR)$(PHP_EXT)/rl.so"
	@install -D -m 644 $(PHP_DIR)/rl.ini "$(DESTDIR)$(PHP_MODS)/rl.ini"
	@for file in $(PHP_SRC:$(PHP_DIR)/src/%=%); do \
		install -D -m 644 $(PHP_DIR)/src/$$file "$(DESTDIR)$(DATADIR)/php/Rl/$$file" || exit 1; done
	@install -D -m 644 $(PHP_DIR)/ext/rl.stub.php "$(DESTDIR)$(DATADIR)/php/Rl/rl.stub.php"
