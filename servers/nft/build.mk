# SPDX-License-Identifier: BSD-2-Clause
# rl-nft: bans of addresses and networks, in sets of nftables.

NFT_DIR := servers/nft
NFT_SRC := $(call files,$(NFT_DIR)/src/*.c)
NFT_NEED := libnftables-dev libmnl-dev libsystemd-dev
NFT_CHECK := nftables iproute2 python3
NFT_TESTS := servers/nft/tests/test_nft.py servers/nft/tests/asan.sh
NFT_FLAGS := -std=c11 -D_GNU_SOURCE -DRL_VERSION='"$(VERSION)"' -fPIE -fvisibility=hidden -Wall -Wextra -Wshadow \
             -Wstrict-prototypes -Werror -Iinclude

NEED_ADAPTERS  += $(NFT_NEED) $(NFT_CHECK)
ADAPTER_BUILDS += build-nft build/nft/asan/rl-nft build/rlctl
ADAPTER_CHECKS += $(NFT_TESTS)

# $(1) where, $(2) flags, $(3) the librl it is linked with, $(4) flags to link with
define NFT_PROGRAM
$(1)/rl-nft: $(NFT_SRC) $(NFT_DIR)/src/nft.h include/rl_admin.h $(3) | build/need
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$(CC) $(NFT_FLAGS) $(2) $$(CPPFLAGS) $(4) -o $$@ $(NFT_SRC) $(3) $$(LDFLAGS) -lnftables -lmnl -lsystemd
endef

$(eval $(call NFT_PROGRAM,build/nft,$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1,$(PIE) $(RELRO)))
$(eval $(call NFT_PROGRAM,build/nft/asan,-O1 -g $(SAN),build/v/asan/librl.so.1,))

build-nft: build/nft/rl-nft

check-nft: build-nft build/nft/asan/rl-nft build/rlctl
	@tests/support/run.sh $(NFT_TESTS)

install-nft: build-nft
	install -D -m 755 build/nft/rl-nft "$(DESTDIR)$(SBINDIR)/rl-nft"
	install -D -m 644 $(NFT_DIR)/rl-nft.8 "$(DESTDIR)$(MANDIR)/man8/rl-nft.8"
	install -d "$(DESTDIR)$(UNITDIR)"
	sed 's|/usr/sbin/|$(SBINDIR)/|' $(NFT_DIR)/rl-nft.service >"$(DESTDIR)$(UNITDIR)/rl-nft.service"
	chmod 644 "$(DESTDIR)$(UNITDIR)/rl-nft.service"
