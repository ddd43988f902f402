# SPDX-License-Identifier: BSD-2-Clause
# rl for Lua: one C module, built for 5.1 (which LuaJIT loads, too) to 5.4, and Lua files beside it.

LUA_VERSIONS := 5.1 5.2 5.3 5.4
LUA_DIR   := bindings/lua
LUA_SRC   := $(call files,$(LUA_DIR)/src/*.c bindings/common/*.c)
LUA_NEED  := liblua5.1-0-dev liblua5.2-dev liblua5.3-dev liblua5.4-dev pkg-config
LUA_CHECK := lua5.1 lua5.2 lua5.3 lua5.4 luajit2,luajit libluajit2-5.1-dev,libluajit-5.1-dev haproxy nginx-light libnginx-mod-http-lua \
             dovecot-core dovecot-auth-lua python3 curl
LUA_TOOLS := $(LUA_VERSIONS:%=build/lua/installed/%/rl.so) $(LUA_VERSIONS:%=build/lua/asan/%/rl.so) build/lua/sizes build/rlctl build/rld
LUA_TESTS := 'bindings/common/tests/origin.sh lua $(LUA_VERSIONS:%=build/lua/%/rl.so)' bindings/lua/tests/test_api.py bindings/lua/tests/asan.sh bindings/lua/tests/test_dovecot.py \
             bindings/lua/tests/test_nginx.py bindings/lua/tests/test_haproxy.py bindings/lua/tests/test_wait.py bindings/lua/tests/readme.py
# The calls of Lua are those of the program that loads the module.
LUA_FLAGS = -std=c11 -D_GNU_SOURCE -DRL_VERSION='"$(VERSION)"' -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow \
            -Wstrict-prototypes -Werror -Iinclude -Ibindings/common $(shell pkg-config --cflags lua$(1) 2>/dev/null)

ifneq ($(filter build-lua check-lua bench-lua,$(MAKECMDGOALS)),)
NEED_BUILD += $(LUA_NEED)
endif
ifneq ($(filter bench-lua,$(MAKECMDGOALS)),)
NEED_BUILD += --install $(LUA_CHECK)
endif
NEED_ADAPTERS  += $(LUA_NEED) $(LUA_CHECK)
ADAPTER_BUILDS += build-lua $(LUA_TOOLS)
ADAPTER_CHECKS += $(LUA_TESTS)

# $(1) a version of Lua, $(2) where, $(3) flags, $(4) the librl it is linked with, $(5) flags to link with
define LUA_MODULE
$(2)/$(1)/rl.so: $(LUA_SRC) $(LUA_DIR)/src/lrl.h $(call files,bindings/common/*.h include/*) $(4) | build/need
	@mkdir -p $$(@D)
	$$(call say,LUA)
	$$(Q)$(CC) $$(call LUA_FLAGS,$(1)) $(3) $$(CPPFLAGS) -shared -o $$@ $(LUA_SRC) $(4) -lm $$(LDFLAGS) $(5)
endef

$(foreach v,$(LUA_VERSIONS),$(eval $(call LUA_MODULE,$(v),build/lua,$(HARDEN) $(FORTIFY) $(CFLAGS) $(RELRO),build/librl.so.1,$$(call rpath,xx))))
$(foreach v,$(LUA_VERSIONS),$(eval $(call LUA_MODULE,$(v),build/lua/installed,$(HARDEN) $(FORTIFY) $(CFLAGS) $(RELRO),build/librl.so.1)))
$(foreach v,$(LUA_VERSIONS),$(eval $(call LUA_MODULE,$(v),build/lua/asan,-O1 -g $(SAN),build/v/asan/librl.so.1)))

# LuaJIT's ffi reads what rl.h declares.
build/lua/share/rl/cdef.lua: $(LUA_DIR)/src/cdef.sh include/rl.h include/rl_flight.h | build/need
	@mkdir -p $(@D)
	$(call say,CDEF)
	$(Q)$< '$(CC)' include >$@

# Lua files as they are installed, so that tests use what is shipped.
LUA_FILES  := $(patsubst $(LUA_DIR)/lib/%,%,$(call files,$(LUA_DIR)/lib/rl/*.lua $(LUA_DIR)/lib/rl/*/*.lua))
LUA_COMPAT := $(patsubst $(LUA_DIR)/compat/%,%,$(call files,$(LUA_DIR)/compat/resty/limit/*.lua))
build/lua/share/%.lua: $(LUA_DIR)/lib/%.lua
	@mkdir -p $(@D)
	@cp $< $@

build/lua/sizes: $(LUA_DIR)/tests/sizes.c include/rl.h | build/need
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Iinclude -o $@ $<

build/lua/cost: $(LUA_DIR)/bench/cost.c include/rl.h build/librl.so.1 | build/need
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Iinclude -o $@ $< build/librl.so.1

build-lua: $(LUA_VERSIONS:%=build/lua/%/rl.so) build/lua/share/rl/cdef.lua $(LUA_FILES:%=build/lua/share/%)

check-lua: build-lua $(LUA_TOOLS)
	@tests/support/run.sh $(LUA_TESTS)

.PHONY: bench-lua
bench-lua: build-lua build/lua/cost
	@$(LUA_DIR)/bench/bench.py

# HAProxy's Lua is 5.3, or 5.4 in later releases; the ffi is LuaJIT's, which looks where 5.1 does.
install-lua: build-lua $(LUA_VERSIONS:%=build/lua/installed/%/rl.so)
	for v in $(LUA_VERSIONS); do \
		install -D -m 644 build/lua/installed/$$v/rl.so "$(DESTDIR)$(LIBDIR)/lua/$$v/rl.so" || exit 1; done
	for file in rl/cdef.lua $(filter-out rl/haproxy.lua,$(LUA_FILES)); do \
		install -D -m 644 build/lua/share/$$file "$(DESTDIR)$(DATADIR)/lua/5.1/$$file" || exit 1; done
	for v in 5.3 5.4; do for file in haproxy statuses wait; do \
		install -D -m 644 build/lua/share/rl/$$file.lua "$(DESTDIR)$(DATADIR)/lua/$$v/rl/$$file.lua" || exit 1; done; done
	for file in $(LUA_COMPAT); do \
		install -D -m 644 $(LUA_DIR)/compat/$$file "$(DESTDIR)$(DATADIR)/lua-rl/$$file" || exit 1; done
