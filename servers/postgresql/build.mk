# SPDX-License-Identifier: BSD-2-Clause
# The extension of PostgreSQL: build/postgresql/rl.so, by PGXS.
#   make build-postgresql, check-postgresql, install-postgresql
PG_CONFIG      ?= pg_config
POSTGRESQL_DIR := servers/postgresql
POSTGRESQL_SRC := $(call files,$(POSTGRESQL_DIR)/src/*.[ch] bindings/common/*.[ch]) $(POSTGRESQL_DIR)/Makefile $(POSTGRESQL_DIR)/build.mk
POSTGRESQL_SQL := $(POSTGRESQL_DIR)/rl.control $(POSTGRESQL_DIR)/rl--0.9.0.sql
POSTGRESQL_TESTS := servers/postgresql/tests/test_postgresql.py servers/postgresql/tests/test_table.py servers/postgresql/tests/readme.py \
                    'bindings/common/tests/origin.sh postgresql build/postgresql/rl.so'
# PostgreSQL's own headers have these.
POSTGRESQL_WARN := -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

NEED_ADAPTERS  += postgresql postgresql-server-dev-15,postgresql-server-dev-17 libkrb5-dev libssl-dev python3
ADAPTER_BUILDS += build-postgresql build/rlctl
ADAPTER_CHECKS += $(POSTGRESQL_TESTS)

# rl.so finds the library of the build tree; installed.so does not look there.
build/postgresql/rl.so: $(POSTGRESQL_SRC) build/librl.so.1 | build/need
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call say,PGXS)
	$(Q)cd $(@D) && pgxs() { env -u MAKEFLAGS $(MAKE) -f $(CURDIR)/$(POSTGRESQL_DIR)/Makefile PG_CONFIG='$(PG_CONFIG)' with_llvm=no \
		RL_LIBRARY=$(CURDIR)/build/librl.so.1 RL_CFLAGS='-I$(CURDIR)/include $(POSTGRESQL_WARN) -ffile-prefix-map=$(CURDIR)=.' \
		RL_LDFLAGS="$$1" rl.so; }; \
		{ pgxs && mv rl.so installed.so && pgxs "-Wl,-rpath,'\$$\$$ORIGIN/..'"; } >make.log 2>&1 || { cat make.log; exit 1; }

build-postgresql: build/postgresql/rl.so

check-postgresql: build-postgresql build/rlctl
	@tests/support/run.sh $(POSTGRESQL_TESTS)

# Where that PostgreSQL looks, below PREFIX.
POSTGRESQL_LIB   = $(shell $(PG_CONFIG) --pkglibdir | sed 's|^/usr|$(PREFIX)|')
POSTGRESQL_SHARE = $(shell $(PG_CONFIG) --sharedir | sed 's|^/usr|$(PREFIX)|')

install-postgresql: build-postgresql
	@install -D -m 644 build/postgresql/installed.so "$(DESTDIR)$(POSTGRESQL_LIB)/rl.so"
	@for file in $(POSTGRESQL_SQL); do \
		install -D -m 644 $$file "$(DESTDIR)$(POSTGRESQL_SHARE)/extension/$${file##*/}" || exit 1; done
