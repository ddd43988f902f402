# SPDX-License-Identifier: BSD-2-Clause
# Perl: build/perl/blib has RL as MakeMaker builds it.
#   make build-perl, check-perl, install-perl
PERL     ?= perl
PERL_DIR := bindings/perl
PERL_SRC := $(call files,$(PERL_DIR)/Makefile.PL $(PERL_DIR)/RL.xs $(PERL_DIR)/typemap bindings/common/*.[ch])
PERL_PM  := $(call files,$(PERL_DIR)/lib/*.pm $(PERL_DIR)/lib/*/*.pm $(PERL_DIR)/lib/*/*/*.pm)
# What MakeMaker and Perl's headers write is not ours to warn of.
PERL_WARN := -Wall -Wextra -Werror -Wno-unused-parameter

NEED_PERL := perl libperl-dev libplack-perl starman apache2 libapache2-mod-perl2
NEED_ADAPTERS += $(NEED_PERL)

# $(1) directory, $(2) flags, $(3) flags to link with. RL.so is linked for the build tree; before that for where it is installed.
define PERL_VARIANT
$(1)/blib/arch/auto/RL/RL.so: $(PERL_SRC) $(PERL_PM) $(PERL_DIR)/build.mk build/librl.so.1 | build/need
	@rm -rf $(1) && mkdir -p $(1)
	$$(call say,PERL)
	$$(Q)cp -r $(PERL_SRC) $(PERL_DIR)/lib $(1)
	$$(Q)cd $(1) && RL_INCLUDE=$$(CURDIR)/include RL_LIBRARY=$$(CURDIR)/build/librl.so.1 \
		RL_CFLAGS='$$(PERL_WARN) -ffile-prefix-map=$$(CURDIR)=. $(2)' $$(PERL) Makefile.PL INSTALLDIRS=vendor >make.log && \
		{ env -u MAKEFLAGS $$(MAKE) OTHERLDFLAGS='$(3)' && cp blib/arch/auto/RL/RL.so installed.so && rm -f blib/arch/auto/RL/RL.so && \
		env -u MAKEFLAGS $$(MAKE) OTHERLDFLAGS="-Wl,-rpath,'\$$$$\$$$$ORIGIN/../../../../..' $(3)" dynamic; } >>make.log 2>&1 || { cat make.log; exit 1; }
endef
$(eval $(call PERL_VARIANT,build/perl,,))
$(eval $(call PERL_VARIANT,build/perl-asan,-O1 -g -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all,-fsanitize=address -fsanitize=undefined))

build-perl: build/perl/blib/arch/auto/RL/RL.so

PERL_TESTS := servers table native asan readme lent
ADAPTER_BUILDS += build-perl build/perl-asan/blib/arch/auto/RL/RL.so build/rlctl build/rld
PERL_CHECKS := $(PERL_TESTS:%='$(PERL_DIR)/tests/run.sh %') 'bindings/common/tests/origin.sh perl build/perl/blib/arch/auto/RL/RL.so'
ADAPTER_CHECKS += $(PERL_CHECKS)

check-perl: build-perl build/perl-asan/blib/arch/auto/RL/RL.so build/rlctl build/rld
	@tests/support/run.sh $(PERL_CHECKS)

# Where Debian looks for what a vendor has compiled, below PREFIX.
PERL_ARCH = $(shell $(PERL) -MConfig -e 'print $$Config{vendorarch} =~ s/^\/usr/$(subst /,\/,$(PREFIX))/r')

install-perl: build-perl
	@install -D -m 644 build/perl/installed.so "$(DESTDIR)$(PERL_ARCH)/auto/RL/RL.so"
	@for file in $(PERL_PM:$(PERL_DIR)/lib/%=%); do \
		install -D -m 644 $(PERL_DIR)/lib/$$file "$(DESTDIR)$(PERL_ARCH)/$$file" || exit 1; done
	@mkdir -p "$(DESTDIR)$(MANDIR)/man3"
	@for file in $(PERL_PM:$(PERL_DIR)/lib/%.pm=%); do name=$$(echo $$file | sed 's|/|::|g'); \
		pod2man --section 3pm --release 'rl $(VERSION)' --center 'rl for Perl' --name "$$name" \
			$(PERL_DIR)/lib/$$file.pm >"$(DESTDIR)$(MANDIR)/man3/$$name.3pm" || exit 1; done
