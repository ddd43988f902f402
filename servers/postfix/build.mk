# SPDX-License-Identifier: BSD-2-Clause
# rl-policyd: a policy server for Postfix.

POSTFIX_DIR := servers/postfix
POSTFIX_SRC := $(call files,$(POSTFIX_DIR)/src/*.c)
POSTFIX_NEED := libjansson-dev libsystemd-dev zlib1g-dev
POSTFIX_CHECK := postfix python3 procps
POSTFIX_TESTS := servers/postfix/tests/asan.sh servers/postfix/tests/test_policyd.py \
                 servers/postfix/tests/test_postfix.py servers/postfix/tests/readme.py
POSTFIX_FLAGS := -std=c11 -D_GNU_SOURCE -DRL_VERSION='"$(VERSION)"' -fPIE -fvisibility=hidden -Wall -Wextra -Wshadow \
                 -Wstrict-prototypes -Werror -Iinclude

NEED_ADAPTERS  += $(POSTFIX_NEED) $(POSTFIX_CHECK)
ADAPTER_BUILDS += build-postfix build/postfix/asan/rl-policyd build/rlctl build/rld
ADAPTER_CHECKS += $(POSTFIX_TESTS)

# $(1) where, $(2) flags, $(3) the librl it is linked with, $(4) flags to link with
define POSTFIX_PROGRAM
$(1)/rl-policyd: $(POSTFIX_SRC) $(POSTFIX_DIR)/src/policyd.h include/rl.h $(3) | build/need
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$(CC) $(POSTFIX_FLAGS) $(2) $$(CPPFLAGS) $(4) -o $$@ $(POSTFIX_SRC) $(3) $$(LDFLAGS) -ljansson -lsystemd -lz
endef

$(eval $(call POSTFIX_PROGRAM,build/postfix,$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1,$(PIE) $(RELRO)))
$(eval $(call POSTFIX_PROGRAM,build/postfix/asan,-O1 -g $(SAN),build/v/asan/librl.so.1,))

build-postfix: build/postfix/rl-policyd

check-postfix: build-postfix build/postfix/asan/rl-policyd build/rlctl build/rld
	@tests/support/run.sh $(POSTFIX_TESTS)

install-postfix: build-postfix
	install -D -m 755 build/postfix/rl-policyd "$(DESTDIR)$(SBINDIR)/rl-policyd"
	install -D -m 644 $(POSTFIX_DIR)/rl-policyd.8 "$(DESTDIR)$(MANDIR)/man8/rl-policyd.8"
	install -d "$(DESTDIR)$(UNITDIR)"
	for unit in rl-policyd.service rl-policyd.socket; do \
		sed 's|/usr/sbin/|$(SBINDIR)/|' $(POSTFIX_DIR)/$$unit >"$(DESTDIR)$(UNITDIR)/$$unit" && \
			chmod 644 "$(DESTDIR)$(UNITDIR)/$$unit" || exit 1; done
	install -D -m 644 $(POSTFIX_DIR)/policyd.json "$(DESTDIR)$(DATADIR)/doc/rl-postfix/examples/policyd.json"
