# SPDX-License-Identifier: BSD-2-Clause
# Ruby: build/ruby/lib has the extension, beside the Ruby files of lib.
#   make build-ruby, check-ruby, install-ruby; bench-ruby; peers-ruby; build/ruby/rl-*.gem
RUBY     ?= ruby
RUBY_DIR := bindings/ruby
RUBY_C   := $(call files,$(RUBY_DIR)/ext/*.[ch] bindings/common/*.[ch])
RUBY_RB  := $(call files,$(RUBY_DIR)/lib/*.rb $(RUBY_DIR)/lib/*/*.rb)
RUBY_WARN := -Wall -Wextra -Wshadow -Wno-unused-parameter -Werror

NEED_RUBY := ruby ruby-dev ruby-minitest ruby-rack ruby-rack-attack ruby-activesupport ruby-actionpack puma unicorn curl pkg-config ruby-sidekiq ruby-activejob redis-server python3
NEED_ADAPTERS  += $(NEED_RUBY)

# $(1) directory, $(2) flags, $(3) flags to link with. What is linked in ext is installed; the same in lib is for the build tree.
define RUBY_VARIANT
$(1)/lib/rl/rl_ext.so: $(RUBY_C) $(RUBY_DIR)/ext/extconf.rb $(RUBY_DIR)/build.mk build/librl.so.1 | build/need
	@rm -rf $(1) && mkdir -p $(1)/ext $(1)/lib/rl
	$$(call say,RUBY)
	$$(Q)cd $(1)/ext && RL_INCLUDE=$$(CURDIR)/include RL_LIBRARY=$$(CURDIR)/build/librl.so.1 \
		RL_CFLAGS='$$(RUBY_WARN) -ffile-prefix-map=$$(CURDIR)=. $(2)' RL_LDFLAGS='$(3)' \
		$$(RUBY) $$(CURDIR)/$(RUBY_DIR)/ext/extconf.rb >extconf.log && \
		{ env -u MAKEFLAGS $$(MAKE) -j1 && env -u MAKEFLAGS $$(MAKE) TARGET_SO_DIR=../lib/rl/ \
		ARCH_FLAG="-Wl,-rpath,'\$$$$\$$$$ORIGIN/../../..'" ../lib/rl/rl_ext.so; } >make.log 2>&1 || { cat extconf.log make.log; exit 1; }
endef
$(eval $(call RUBY_VARIANT,build/ruby,,))
# Ruby leaves frames by jumps that the sanitizer does not see, and their marks on the stack would stay: heap alone.
$(eval $(call RUBY_VARIANT,build/ruby-asan,-O1 -g --param asan-stack=0 -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all,-fsanitize=address -fsanitize=undefined))

build-ruby: build/ruby/lib/rl/rl_ext.so

RUBY_TESTS := servers ruby asan gem readme lent stress
ADAPTER_BUILDS += build-ruby build/ruby-asan/lib/rl/rl_ext.so build/rlctl build/rld
RUBY_CHECKS := $(RUBY_TESTS:%='$(RUBY_DIR)/tests/run.sh %') 'bindings/common/tests/jobs/run.py sidekiq' 'bindings/common/tests/jobs/recipes.py ruby' 'bindings/common/tests/origin.sh ruby build/ruby/lib/rl/rl_ext.so'
ADAPTER_CHECKS += $(RUBY_CHECKS)

check-ruby: build-ruby build/ruby-asan/lib/rl/rl_ext.so build/rlctl build/rld
	@tests/support/run.sh $(RUBY_CHECKS)

bench-ruby: build-ruby build/bindings/check_ns
	@tests/support/need.sh --install redis-server ruby-redis memcached ruby-dalli
	@$(RUBY_DIR)/tests/run.sh bench

.PHONY: gem-ruby peers peers-ruby
peers: peers-ruby
peers-ruby: build-ruby
	@tests/support/need.sh --install dpkg-dev ruby-timecop ruby-minitest-hooks ruby-rack-test
	@$(RUBY_DIR)/tests/peers.sh

# The gem has librl's own sources, and builds them where no librl is installed.
RUBY_GEM := build/ruby-gem
$(RUBY_GEM)/rl-$(VERSION).gem: $(RUBY_C) $(RUBY_RB) $(RUBY_DIR)/sig/rl.rbs $(RUBY_DIR)/rl.gemspec $(LIB_SRC)
	@rm -rf $(RUBY_GEM) && mkdir -p $(RUBY_GEM)/rl
	@cp -r $(RUBY_DIR)/lib $(RUBY_DIR)/ext $(RUBY_DIR)/sig $(RUBY_DIR)/rl.gemspec $(RUBY_DIR)/README.md bindings/common LICENSE $(RUBY_GEM)
	@cp -r include libshm $(RUBY_GEM)/rl
	@echo $(VERSION) >$(RUBY_GEM)/VERSION
	@cd $(RUBY_GEM) && gem build --quiet rl.gemspec >gem.log 2>&1 || { cat gem.log; exit 1; }

# The same built, for machines of this kind without a compiler, and this Ruby.
gem-ruby: $(RUBY_GEM)/rl-$(VERSION).gem
	@rm -rf $(RUBY_GEM)/built && mkdir -p $(RUBY_GEM)/built/o
	@cp -r $(addprefix $(RUBY_GEM)/,lib ext sig common rl rl.gemspec README.md LICENSE VERSION) $(RUBY_GEM)/built
	@cd $(RUBY_GEM)/built/o && $(RUBY) ../ext/extconf.rb >log && $(MAKE) -s >>log && strip rl_ext.so && mv rl_ext.so ../lib/rl/
	@cd $(RUBY_GEM)/built && gem build --quiet rl.gemspec >gem.log 2>&1 || { cat gem.log; exit 1; }
	@mv $(RUBY_GEM)/built/rl-$(VERSION)-*.gem $(RUBY_GEM)/ && rm -rf $(RUBY_GEM)/built

# Where Debian puts a library of Ruby, its extension and its specification, below PREFIX.
RUBY_LIB  = $(shell $(RUBY) -e 'puts RbConfig::CONFIG["vendordir"].sub(%r{\A/usr}, "$(PREFIX)")')
RUBY_ARCH = $(shell $(RUBY) -e 'puts RbConfig::CONFIG["vendorarchdir"].sub(%r{\A/usr}, "$(PREFIX)")')
RUBY_API  = $(shell $(RUBY) -e 'puts RbConfig::CONFIG["ruby_version"]')
RUBY_SPEC = $(DATADIR)/rubygems-integration/$(RUBY_API)/specifications/rl-$(VERSION).gemspec

install-ruby: build-ruby
	@for file in $(RUBY_RB:$(RUBY_DIR)/lib/%=%); do \
		install -D -m 644 $(RUBY_DIR)/lib/$$file "$(DESTDIR)$(RUBY_LIB)/$$file" || exit 1; done
	@install -D -m 644 build/ruby/ext/rl_ext.so "$(DESTDIR)$(RUBY_ARCH)/rl/rl_ext.so"
	@mkdir -p "$(DESTDIR)$(dir $(RUBY_SPEC))"
	@$(RUBY) $(RUBY_DIR)/installed_spec.rb $(RUBY_DIR)/rl.gemspec >"$(DESTDIR)$(RUBY_SPEC)"

# What a call costs in C, for the benches of the bindings.
build/bindings/check_ns: bindings/common/tests/check_ns.c build/librl.so.1
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -Iinclude -o $@ $^
