# SPDX-License-Identifier: BSD-2-Clause
# The modules for nginx, against the headers of Debian's nginx-dev:
#
#   make build-nginx    build/nginx/ngx_http_rl_module.so, build/nginx/ngx_stream_rl_module.so
#   make check-nginx    all their tests
#   make nginx-module   the modules for another nginx, from its source: NGINX=path/to/nginx-1.22.1
#   make bench-nginx    CPU for a request, beside nginx's own limit_req
#   make torture-nginx  all tests under valgrind
NGINX_SRC   := /usr/share/nginx/src
NGINX_DIR   := servers/nginx
NGINX_OUT   := build/nginx
NGINX_FLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wstrict-prototypes \
               -Wno-missing-field-initializers -Werror -MMD -MP
NGINX_INCS  := $(foreach d,core event event/modules event/quic os/unix http http/v2 http/v3 http/modules stream,-isystem $(NGINX_SRC)/src/$(d)) \
               -isystem $(NGINX_OUT)/objs
NGINX_SHARED := segment segment_directive rules places report parse directives decide wait answer client text
NGINX_COMMON := servers/common/directive $(addprefix bindings/common/,limit options text values words)
NGINX_HTTP   := $(NGINX_SHARED:%=ngx_rl_%) $(addprefix ngx_http_rl_,module handler headers problem state variables)
NGINX_STREAM := $(NGINX_SHARED:%=ngx_rl_%) $(addprefix ngx_stream_rl_,module handler)
NGINX_TESTS  := $(call files,$(NGINX_DIR)/tests/test_*.py)

# Every test on the build that is shipped; under sanitizers those that run the most of it.
NGINX_SANE   := limit_req limit_conn rules failures stream answers wait
NGINX_CHECKS := $(foreach test,$(NGINX_TESTS),'$(if $(filter %/test_module.py,$(test)),RL_TEST_NETWORK=shared )python3 $(test)') $(NGINX_SANE:%='RL_NGINX_VARIANT=asan python3 $(NGINX_DIR)/tests/test_%.py')

NEED_NGINX := nginx nginx-dev libnginx-mod-stream python3 curl
NEED_ADAPTERS  += $(NEED_NGINX)
ADAPTER_BUILDS += build-nginx nginx-variants build/rld
ADAPTER_CHECKS += $(NGINX_CHECKS)

.PHONY: nginx-module nginx-variants bench-nginx torture-nginx

# Debian's own way to build a module is to configure nginx anew; only what it finds out is needed here.
$(NGINX_OUT)/objs/Makefile: $(NGINX_DIR)/config $(NGINX_DIR)/build.mk | build/need
	@mkdir -p $(@D)
	@tests/support/need.sh nginx-dev
	$(call say,CONFIG)
	$(Q)cd $(NGINX_SRC) && bash -c '. ./conf_flags; ./configure "$${NGX_CONF_FLAGS[@]}" --with-cc=$(CC) \
		--with-stream=dynamic --add-dynamic-module=$(CURDIR)/$(NGINX_DIR) --builddir=$(CURDIR)/$(@D)' >$(CURDIR)/$(@D).log 2>&1 || \
		{ cat $(CURDIR)/$(@D).log; exit 1; }

# $(1) directory, $(2) compiler, $(3) flags, $(4) flags to link with, $(5) where librl is
define NGINX_VARIANT
$(1)/%.o: $(NGINX_DIR)/%.c $(NGINX_OUT)/objs/Makefile
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $(NGINX_FLAGS) $(3) $$(CPPFLAGS) -Iinclude $(NGINX_INCS) -c -o $$@ $$<

$(1)/common/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $(NGINX_FLAGS) $(3) $$(CPPFLAGS) -Iinclude -c -o $$@ $$<

$(1)/%_modules.o: $(NGINX_OUT)/objs/Makefile
	@mkdir -p $$(@D)
	$$(Q)$(2) $(3) -fPIC $(NGINX_INCS) -c -o $$@ $(NGINX_OUT)/objs/$$*_modules.c

$(1)/ngx_http_rl_module.so: $(NGINX_HTTP:%=$(1)/%.o) $(1)/ngx_http_rl_module_modules.o $(5)/librl.so.1
$(1)/ngx_stream_rl_module.so: $(NGINX_STREAM:%=$(1)/%.o) $(1)/ngx_stream_rl_module_modules.o $(5)/librl.so.1
$(1)/ngx_http_rl_module.so $(1)/ngx_stream_rl_module.so: $(NGINX_COMMON:%=$(1)/common/%.o)
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(4) $$(LDFLAGS) -shared -o $$@ $$^

-include $$(wildcard $(1)/*.d $(1)/common/*/common/*.d)
endef

$(eval $(call NGINX_VARIANT,$(NGINX_OUT),$(CC),$(HARDEN) $(FORTIFY) $(CFLAGS),$(RELRO),build))
$(eval $(call NGINX_VARIANT,$(NGINX_OUT)/clang,clang,-O2 -g,,build))
$(eval $(call NGINX_VARIANT,$(NGINX_OUT)/asan,gcc,-O1 -g $(SAN),,build/v/asan))

build-nginx: $(NGINX_OUT)/ngx_http_rl_module.so $(NGINX_OUT)/ngx_stream_rl_module.so
nginx-variants: $(foreach v,clang asan,$(NGINX_OUT)/$(v)/ngx_http_rl_module.so $(NGINX_OUT)/$(v)/ngx_stream_rl_module.so)

nginx-module: build/librl.so.1
	@$(NGINX_DIR)/module.sh "$(NGINX)" $(CURDIR)/build/nginx-module

check-nginx: build-nginx nginx-variants build/rlctl build/rld
	@tests/support/run.sh $(NGINX_CHECKS)

bench-nginx: build-nginx build/rlctl
	@tests/support/need.sh --install $(NEED_NGINX) wrk valgrind
	@python3 $(NGINX_DIR)/tests/bench.py

torture-nginx: build-nginx build/rlctl
	@tests/support/need.sh --install $(NEED_NGINX) valgrind
	@RL_TEST_SECONDS=7200 tests/support/run.sh $(NGINX_TESTS:%='RL_NGINX_VARIANT=valgrind python3 %')

# Where Debian's nginx looks for modules; another prefix has another nginx.
NGINX_MODULES ?= /usr/lib/nginx/modules
install-nginx: build-nginx
	@for module in http stream; do \
		install -D -m 644 $(NGINX_OUT)/ngx_$${module}_rl_module.so $(DESTDIR)$(NGINX_MODULES)/ngx_$${module}_rl_module.so || exit; \
	done
