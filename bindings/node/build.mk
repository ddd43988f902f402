# SPDX-License-Identifier: BSD-2-Clause
# librl for Node.
#
#   make build-node      build/node/librl.node on librl.so.1, and build/node/package, an npm package with what was
#                        built for this machine
#   make node-package    the same with what can be built for others, and build/node/librl-VERSION.tgz of it
#   make check-node      their tests, with real servers and PM2
#   make bench-node      what a call costs, beside librl's own, other stores and Redis
#   make install-node    where Debian's Node looks for modules: NODEDIR, $(LIBDIR)/nodejs

NODE      := bindings/node
NODE_OUT  := build/node
NODE_INC  := $(firstword $(wildcard /usr/include/node /usr/include/nodejs/src) /usr/include/node)
NODE_SRC  := $(call files,$(NODE)/src/*.c)
NODE_COMMON := $(call files,bindings/common/*.c)
NODE_FLAGS := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes \
              -Werror -MMD -MP -Iinclude -Ibindings/common -isystem $(NODE_INC)
NODE_LINK := -shared -Wl,-z,relro -Wl,-z,now -Wl,--exclude-libs,ALL
NODE_ARCH := $(if $(filter x86_64%,$(MACHINE)),x64,arm64)

# This machine's Node may have its headers, and an npm, of its own.
NEED_NODE := $(if $(wildcard $(NODE_INC)/node_api.h),,libnode-dev)
NEED_ADAPTERS += $(NEED_NODE) $(if $(shell command -v node),,nodejs) $(if $(shell command -v npm),,npm) python3 make g++ \
                 $(if $(filter x64,$(NODE_ARCH)),gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
NEED_BUILD += $(if $(filter build-node install-node node-package bench-node,$(MAKECMDGOALS)),$(NEED_NODE))

# One way to build the addon: $(1) where, $(2) compiler, $(3) flags, $(4) what is linked to it, $(5) flags to link with.
define NODE_ADDON
$(1)/o/%.o: $(NODE)/src/%.c | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $$(NODE_FLAGS) $(3) $$(CPPFLAGS) -c -o $$@ $$<

$(1)/o/common/%.o: bindings/common/%.c | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$(2) $$(NODE_FLAGS) $(3) $$(CPPFLAGS) -c -o $$@ $$<

$(1)/librl.node: $$(NODE_SRC:$(NODE)/src/%.c=$(1)/o/%.o) $$(NODE_COMMON:bindings/common/%.c=$(1)/o/common/%.o) $(4)
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(NODE_LINK) $$(LDFLAGS) $(5) -o $$@ $$^ -lpthread -lm

-include $$(wildcard $(1)/o/*.d $(1)/o/common/*.d)
endef

NODE_X86 := $(if $(filter x64,$(NODE_ARCH)),-mcx16)
$(eval $(call NODE_ADDON,$(NODE_OUT),$(CC),$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1,$$(call rpath,x)))
$(eval $(call NODE_ADDON,$(NODE_OUT)/installed,$(CC),$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1))
$(eval $(call NODE_ADDON,$(NODE_OUT)/prebuilds/linux-$(NODE_ARCH)-glibc,$(CC),$(HARDEN) $(FORTIFY) $(CFLAGS) -s,build/librl.a))
$(eval $(call NODE_ADDON,$(NODE_OUT)/asan,gcc,-O1 -g $(SAN),build/v/asan/librl.a))
NODE_MUSL := $(NODE_OUT)/prebuilds/linux-$(NODE_ARCH)-musl
$(eval $(call NODE_ADDON,$(NODE_MUSL),musl-gcc,-O2 -s $(NODE_X86),build/v/musl/librl.a))
ifeq ($(NODE_ARCH),x64)
NODE_ARM64 := $(NODE_OUT)/prebuilds/linux-arm64-glibc
$(eval $(call NODE_ADDON,$(NODE_ARM64),aarch64-linux-gnu-gcc,-O2 -s,$(LIB_SRC:libshm/%.c=$(NODE_ARM64)/librl/%.o)))

# The library's own sources, for the other machine.
$(NODE_ARM64)/librl/%.o: libshm/%.c | build/need
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)aarch64-linux-gnu-gcc $(filter-out -mcx16,$(RL_FLAGS)) -O2 $(C11) -Iinclude -Ilibshm -c -o $@ $<

-include $(wildcard $(NODE_ARM64)/librl/*/*.d)
endif

NODE_HERE   := linux-$(NODE_ARCH)-glibc
NODE_OTHERS := $(notdir $(NODE_MUSL) $(NODE_ARM64))
NODE_FILES  := $(call files,$(NODE)/lib/* $(NODE)/types/* $(NODE)/src/* bindings/common/*.[ch]) $(addprefix $(NODE)/,package.json binding.gyp install.js README.md)

# The tree that npm packs: sources of librl as well, from which it can be built where nothing prebuilt runs.
define NODE_COPY
	@rm -rf $(1)
	@mkdir -p $(1)/librl $(1)/prebuilds
	@cp -r $(addprefix $(NODE)/,lib types src package.json binding.gyp install.js README.md) bindings/common LICENSE $(1)
	@rm -rf $(1)/common/tests
	@cp -r include libshm $(1)/librl
	@for kind in $(2); do install -D -m 644 $(NODE_OUT)/prebuilds/$$kind/librl.node $(1)/prebuilds/$$kind/librl.node || exit; done
endef

$(NODE_OUT)/package/.done: $(NODE_FILES) $(LIB_SRC) $(NODE_OUT)/prebuilds/$(NODE_HERE)/librl.node
	$(call NODE_COPY,$(@D),$(NODE_HERE))
	@touch $@

$(NODE_OUT)/all/.done: $(NODE_FILES) $(LIB_SRC) $(patsubst %,$(NODE_OUT)/prebuilds/%/librl.node,$(NODE_HERE) $(NODE_OTHERS))
	$(call NODE_COPY,$(@D),$(NODE_HERE) $(NODE_OTHERS))
	@cd $(NODE_OUT) && npm pack --silent ./all >/dev/null
	@touch $@

.PHONY: node-package bench-node
build-node: $(NODE_OUT)/librl.node $(NODE_OUT)/package/.done
node-package: $(NODE_OUT)/all/.done

NODE_CHECKED := $(NODE_OUT)/librl.node $(NODE_OUT)/installed/librl.node $(NODE_OUT)/package/.done $(NODE_OUT)/all/.done $(NODE_OUT)/asan/librl.node build/rlctl build/rld
NODE_CHECKS  := 'bindings/common/tests/jobs/recipes.py node' 'bindings/common/tests/origin.sh node $(NODE_OUT)/librl.node' $(foreach part,pm2 types source npm core lent asan package,'$(NODE)/tests/run.sh $(part)')
ADAPTER_BUILDS += $(NODE_CHECKED)
ADAPTER_CHECKS += $(NODE_CHECKS)

check-node: $(NODE_CHECKED)
	@tests/support/run.sh $(NODE_CHECKS)

bench-node: $(NODE_OUT)/package/.done $(NODE_OUT)/bench
	@$(NODE)/bench/run.sh

$(NODE_OUT)/bench: $(NODE)/bench/bare.c build/librl.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -o $@ $^

NODEDIR = $(LIBDIR)/nodejs
install-node: build-node $(NODE_OUT)/installed/librl.node
	@install -d "$(DESTDIR)$(NODEDIR)/librl/lib" "$(DESTDIR)$(NODEDIR)/librl/types"
	@install -m 644 $(NODE)/lib/* "$(DESTDIR)$(NODEDIR)/librl/lib"
	@install -m 644 $(NODE)/types/* "$(DESTDIR)$(NODEDIR)/librl/types"
	@install -m 644 $(NODE)/package.json $(NODE_OUT)/installed/librl.node "$(DESTDIR)$(NODEDIR)/librl"
