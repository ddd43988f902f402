# SPDX-License-Identifier: BSD-2-Clause
# rl: a rate limit shared by all worker processes of a host.
#
#   make            build/librl.a, build/librl.so.1, build/rlctl, build/rl-replay, build/rld
#   make demo       pre-forked HTTP workers sharing one limit, driven with real requests
#   make demo-cluster
#                   three hosts, one limit over a Redis Cluster, a master killed in the middle
#   make check      build and pass all tests, on every backend and sanitizer
#   make check-NAME the tests of one adapter of servers/ or bindings/: check-nginx
#   make quick      of them what takes no longer than a minute, before each commit
#   make mutants    the code broken in one place at a time, in each place that is listed: a test notices
#   make torture    all mutants, a storm of MINUTES=10, larger searches of the models, a kill after every
#                   instruction: an hour
#   make seats      of it what needs a root of its own or another Debian: packages, releases, a tarball
#   make arm64      the library and its unit tests on arm64, in an emulator
#   make coverage   which lines of libshm the unit and race tests run, at least 95 %
#   make accuracy   each algorithm beside the exact sliding log, as Markdown tables
#   make flood      what users and attackers of a full table get, as a Markdown table, and 10^8 requests
#                   to full tables beside an exact log: a quarter of an hour
#   make fuzz       hostile configurations, command lines, files to replay and restore, and damaged
#                   segments, for FUZZ_SECONDS=300 each
#   make bench      what a decision costs, beside the hardware's floor and what else people use
#   make figures    put that into README.md and docs/NUMBERS.md
#   make bench-cluster
#                   what a cluster costs: the script, questions, a million keys, a master that dies
#   make bench-peers
#                   the limiters that languages and servers have, beside rl's: each bench-NAME in turn
#   make profile    instructions of each kind of decision; with LANE=admit of that one, by function
#   make install    into PREFIX, /usr/local, with DESTDIR in front of it
#   make uninstall  remove what was installed, and nothing else
#   make dist       build/dist/rl-VERSION.tar.gz and SHA256SUMS: the same bytes each time
#   make debs       Debian packages of all, and an apt repository of them: build/debs
#   make site       the documents and manual pages as static HTML in build/site
#   make format     lay out the sources with clang-format
#   make clean      remove build/
#   make help       this text
#
# demo, check, quick, fuzz, arm64, bench and a test alone install the Debian packages they miss.
# ATOMIC=c11 builds the default targets on the compiler's atomics instead of libck's. CC, CPPFLAGS,
# CFLAGS and LDFLAGS are yours. V=1 shows the commands.

ATOMIC ?= ck
CFLAGS ?= -O2 -g
Q := $(if $(V),,@)
say = $(if $(V),,$(info $()  $(1)$(if $(filter CC AR,$(1)),    ,  ) $@))

NEED_BUILD := gcc libc6-dev libck-dev libjansson-dev libncurses-dev libmicrohttpd-dev libsystemd-dev \
              zlib1g-dev libzstd-dev liblzma-dev libhiredis-dev libssl-dev
NEED_DEMO  := $(NEED_BUILD) apache2-utils
NEED_BENCH := $(NEED_BUILD) redis-server memcached python3
NEED_TEST  := $(NEED_BUILD) libcmocka-dev clang libclang-rt-dev musl-tools redis-server
NEED_CHECK := $(NEED_DEMO) $(NEED_BENCH) $(NEED_TEST) bats iproute2 spin clang-format \
              shellcheck python3-jsonschema mandoc jq tmux zsh fish tcc \
              curl debootstrap procps prometheus systemd systemd-container relacy-dev g++ \
              pkg-config fail2ban chromium podman crun python3-yaml zstd xz-utils cmark-gfm abigail-tools
NEED_QUICK := $(NEED_BUILD) libcmocka-dev bats jq mandoc python3-jsonschema procps tmux
NEED_ARM64 := $(NEED_BUILD) gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static

# Before the first check has installed a compiler, this machine's.
MACHINE  := $(or $(shell $(CC) -dumpmachine 2>/dev/null),$(shell uname -m))
VERSION  := 0.9.0
RL_FLAGS := -std=c11 -D_GNU_SOURCE -DRL_VERSION='"$(VERSION)"' -fPIC -fvisibility=hidden \
            -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror -MMD -MP $(if $(filter x86_64%,$(MACHINE)),-mcx16)
C11      := -DRL_ATOMIC_C11

# What hardens the default build, as far as the compiler has it: one that is still to be installed
# will. FORTIFY_SOURCE needs optimisation, and is yours if you say it. CFLAGS come after all of it.
# No file says where it was built.
optional = $(shell for flag in $(1); do ! command -v $(firstword $(CC)) >/dev/null || \
	$(CC) -Werror $$flag -x c -S -o - /dev/null >/dev/null 2>&1 && echo $$flag; done)
HARDEN   := $(call optional,-fstack-protector-strong -fstack-clash-protection \
            $(if $(filter x86_64% i%86%,$(MACHINE)),-fcf-protection) -ffile-prefix-map=$(CURDIR)=.)
OPTIMISED := $(filter-out -O0,$(lastword $(filter -O%,$(CPPFLAGS) $(CFLAGS))))
FORTIFY  := $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(OPTIMISED),-D_FORTIFY_SOURCE=2))
RELRO    := -Wl,-z,relro -Wl,-z,now
# What a binding is built of finds librl.so.1 beside itself in the build tree: $(1) folders up. Installed files have no such path.
rpath     = -Wl,-rpath,'$$ORIGIN$(subst x,/..,$(1))'
PIE      := $(if $(filter -static,$(CFLAGS) $(LDFLAGS)),,-pie)
LINK      = $(CC) $(HARDEN) $(CFLAGS) $(PIE) $(RELRO) $(LDFLAGS)
# The library as it is shipped is optimised as a whole, shared and static: each function may be inline
# wherever it is called. Its objects have both forms of code: tests are linked with the plain one.
LTO      := $(if $(OPTIMISED),$(shell $(CC) --version 2>/dev/null | grep -q Free.Software && echo -flto=1 -flto-partition=one -ffat-lto-objects))
# What makes the linker take the plain form.
PLAIN    := $(if $(LTO),$(if $(filter -flto%,$(CFLAGS)),,-fno-lto -fno-use-linker-plugin))
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# In an order that is the same everywhere, and with it what is made of them.
files = $(sort $(wildcard $(1)))
LIB_SRC   := $(call files,libshm/*/*.c)
# Of a replay, rlctl has its options and what runs the program beside it.
REPLAY_RUN  := rlctl/replay/cmd_replay.c
REPLAY_SRC  := $(filter-out $(REPLAY_RUN),$(call files,rlctl/replay/*.c)) rlctl/config/version_config.c
BASE_SRC    := $(call files,rlctl/base/*.c)
REPLAY_LIBS := -ljansson -lz -lzstd -llzma
RLCTL_SRC := $(filter-out rlctl/replay/%,$(call files,rlctl/*.c rlctl/*/*.c)) $(REPLAY_RUN) rlctl/replay/replay_options.c
STORE_LIBS := -lhiredis -lssl -lcrypto
RLCTL_STORE := $(patsubst %.c,%,$(call files,rld/store/*.c)) $(patsubst %,rld/cluster/%,secret script rules seal order)
RLCTL_LIBS := -ljansson $(STORE_LIBS) -lncursesw -ltinfo
RLD_SRC   := $(call files,rld/*.c rld/*/*.c)
CONF_SRC  := $(call files,config/*/*.c)
UNIT      := $(patsubst tests/%.c,%,$(call files,tests/unit/*/test_*.c))
OF_RLD    := $(patsubst tests/%.c,%,$(shell grep -l '"../../../rld/' $(call files,tests/unit/*/test_*.c)))
SCHEDULES := $(patsubst tests/%.c,%,$(shell grep -lE '\<rl_atomic_hook\>|"(schedule|stop|intrude|few_rows|history)\.h"' \
             $(call files,tests/race/test_*.c)))
CRASH     := $(patsubst tests/%.c,%,$(call files,tests/crash/test_*.c))
SCRIBBLE  := fuzz/test_scribble
HOSTILE   := fuzz/test_hostile
RLD_FUZZ  := fuzz/test_rld
STORM     := torture/test_storm
RACE      := $(filter-out $(SCHEDULES),$(patsubst tests/%.c,%,$(call files,tests/race/test_*.c)))
CLUSTER   := $(patsubst tests/%.c,%,$(call files,tests/cluster/test_*.c))
CLUSTER_PARTS := $(patsubst %.c,%,$(filter-out tests/cluster/test_% tests/cluster/bench.c,$(call files,tests/cluster/*.c)))
STORE_PARTS   := $(patsubst %.c,%,$(call files,rld/store/*.c rld/cluster/*.c))
SHARE_PARTS    := $(patsubst %,rld/cluster/%,host_shares rule_shares keys leases policy identity) rld/store/value tests/cluster/reference # its test is the store
ORDER_PARTS    := $(patsubst %,rld/cluster/%,orders order seal secret) rld/store/value # test_orders is the store
ADAPTERS  := $(patsubst tests/%.c,%,$(call files,tests/adapters/test_*.c))
SUPPORT   := $(call files,tests/support/*.c)
SOURCES   := $(call files,include/*.h libshm/*/*.[ch] rlctl/*.[ch] rlctl/*/*.[ch] rld/*.[ch] rld/*/*.[ch] config/*/*.[ch] examples/*.[ch] tests/*/*.[ch] tests/unit/*/*.[ch] \
             $(foreach d,servers bindings,$(addprefix $(d)/,*/*.[ch] */*/*.[ch])))

# Some 400 programs are built for a check: on all CPUs, unless goals undo each other's work.
ifeq ($(filter clean uninstall format,$(MAKECMDGOALS)),)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all demo demo-cluster check quick mutants torture seats arm64 coverage bench figures bench-cluster bench-peers profile dist debs site accuracy flood fuzz install uninstall format \
        clean help check-format check-headers check-clang check-exports check-mutants FORCE
.DELETE_ON_ERROR:

all: build/librl.a build/librl.so.1 build/rlctl build/rl-replay build/rld

# Adapters: modules of servers and bindings of languages, on the public headers and librl.so alone. Each has a
# build.mk with targets build-<name>, check-<name> and install-<name>, and adds to these:
NEED_ADAPTERS  := # Debian packages that its check needs
ADAPTER_BUILDS := # targets that its check needs
ADAPTER_CHECKS := # commands that pass, the long ones first
include $(call files,servers/*/build.mk bindings/*/build.mk)
ADAPTER_NAMES  := $(notdir $(patsubst %/build.mk,%,$(call files,servers/*/build.mk bindings/*/build.mk)))

# check-<name>: one adapter alone.
.PHONY: $(foreach n,$(ADAPTER_NAMES),build-$(n) check-$(n) install-$(n))

help:
	@sed -n '/^#   make/,/^# demo/p; /^# demo/,/^$$/p' Makefile | uniq | cut -c3-

# What a source may include: the library its own, tools and their configuration the public
# headers alone, tests everything.
dirs = -Iinclude $(if $(filter libshm/%,$(1)),-Ilibshm) $(if $(filter rlctl/%,$(1)),-Irlctl) $(if $(filter rlctl/% rld/% config/% tests/%,$(1)),-Iconfig) $(if $(filter rlctl/% rld/%,$(1)),-Irld) \
       $(if $(filter tests/%,$(1)),-Ilibshm -Itests -Itests/support -Irld)

# The variants that these goals can need. What the objects of others are made of is not read: that takes seconds.
GOALS := $(or $(MAKECMDGOALS),all)
seen   = $(or $(filter build build/v/newer,$(1)),$(filter $(1)/%,$(GOALS)), \
         $(if $(filter quick,$(GOALS)),$(filter build/v/hook,$(1))), \
         $(filter-out all quick build/tests/% build/v/%,$(GOALS)))

# Test programs: $(1) where they go, $(2) the directory of their objects, $(3) how they are linked, $(4) with which library, $(5) whose config.
define PROGRAMS
$(1)/%: $(2)/o/tests/%.o $$(SUPPORT:%.c=$(2)/o/%.o) $(5)/libconfig.a $(4)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$(3) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcmocka -ljansson -lpthread

$(1)/unit/bindings/test_dictionaries: $(patsubst %,$(2)/o/bindings/common/%.o,values limit options text words)
$(1)/unit/servers/test_directive: $(2)/o/servers/common/directive.o $(patsubst %,$(2)/o/bindings/common/%.o,values limit options text words)
$(1)/unit/rld/test_sweeper: $(patsubst %,$(2)/o/rld/%.o,loop/sweeper loop/limited base/clock base/log)
$(1)/unit/rld/test_mover: $(patsubst %,$(2)/o/rld/%.o,loop/mover base/clock base/log)
$(1)/unit/rld/test_watch: $(patsubst %,$(2)/o/rld/%.o,loop/watch base/log)
$(1)/unit/segment/test_counters: build/v/newer/librl.so.1
$(ADAPTERS:%=$(1)/%): $(1)/adapters/test_%: $(2)/o/tests/adapters/%.o
$(1)/unit/rld/test_clients: $(2)/o/rld/serve/clients.o
$(1)/unit/rld/test_probe: $(patsubst %,$(2)/o/rld/%.o,serve/probe base/log)
$(1)/unit/rld/test_counters_text: $(patsubst %,$(2)/o/rld/keep/%.o,counters_read counters_write)
$(1)/unit/rld/test_host: $(2)/o/rld/serve/host.o
$(1)/unit/rld/test_openmetrics: $(2)/o/rld/serve/openmetrics.o
$(1)/unit/rld/test_page_key: $(2)/o/rld/serve/page_key.o

# What has a store, or is one.
$(filter-out %/test_shares %/test_orders,$(CLUSTER:%=$(1)/%)) $(1)/cluster/bench: $(CLUSTER_PARTS:%=$(2)/o/%.o) $(STORE_PARTS:%=$(2)/o/%.o)
$(1)/cluster/test_shares: $(SHARE_PARTS:%=$(2)/o/%.o)
$(1)/cluster/test_orders: $(ORDER_PARTS:%=$(2)/o/%.o)
$(CLUSTER:%=$(1)/%) $(1)/cluster/bench: $(1)/cluster/%: $(2)/o/tests/cluster/%.o \
                           $$(SUPPORT:%.c=$(2)/o/%.o) $(5)/libconfig.a $(4)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$(3) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcmocka -ljansson -lpthread -lm $$(STORE_LIBS)
endef

# The library's objects in $(1): of all sources, or of those in $(3), and the others are those of $(2).
parts = $(patsubst %.c,$(1)/o/%.o,$(filter $(or $(3),%),$(LIB_SRC))) $(if $(3),$(patsubst %.c,$(2)/o/%.o,$(filter-out $(3),$(LIB_SRC))))

# One set of rules for each way to build: $(1) directory, $(2) compiler, $(3) flags, $(4) flags to
# link with, and what is no shared object is then position-independent, too; $(5) flags to optimise
# the library as a whole; $(6) the directory whose config and tools it takes, if not its own, for no flag of
# its own matters there; $(7) the sources of the library that are other ones here, if it takes the rest from there, too.
define VARIANT
$(1)/o/%.o: %.c $(1)/flags | build/need $(1)/o
	$$(call say,CC)
	$$(Q)$(2) $$(RL_FLAGS) $(3) $$(if $$(filter libshm/%,$$<),$(5)) $$(CPPFLAGS) $$(call dirs,$$<) -c -o $$@ $$<

$(1)/o: FORCE
	@mkdir -p $(addprefix $(1)/o/,$(sort $(dir $(SOURCES))))

# Where the tree stands is no reason to build anew: no object says it.
$(1)/given := $$(subst ',,$$(subst ",,$$(filter-out -ffile-prefix-map=%,$(2) $$(RL_FLAGS) $(3) $(5) $$(CPPFLAGS))))
ifneq ($$(strip $$(file <$(1)/flags)),$$($(1)/given))
$(1)/flags: FORCE
endif
$(1)/flags: | $(1)/o
	@printf '%s\n' '$$($(1)/given)' >$$@

$(1)/librl.a: $(if $(5),$(1)/o/librl.o,$(call parts,$(1),$(6),$(7)))
	@rm -f $$@
	$$(call say,AR)
	$$(Q)$$(AR) rcsD $$@ $$^

$(1)/o/librl.o: $$(LIB_SRC:%.c=$(1)/o/%.o)
	$$(call say,LINK)
	$$(Q)$(2) $$(RL_FLAGS) $(3) $(5) -flinker-output=nolto-rel -r -o $$@ $$^

# For tests, and mutants, which put another object in place of one.
$(1)/librl-parts.a: $(call parts,$(1),$(6),$(7))
	@rm -f $$@
	$$(call say,AR)
	$$(Q)$$(AR) rcsD $$@ $$^

$(1)/libconfig.a: $$(CONF_SRC:%.c=$(1)/o/%.o)
	@rm -f $$@
	$$(call say,AR)
	$$(Q)$$(AR) rcsD $$@ $$^

$(1)/librl.so.1: $(call parts,$(1),$(6),$(7)) libshm/api/librl.map
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(5) $(4) $$(LDFLAGS) -shared -Wl,-soname,librl.so.1 -Wl,--version-script=libshm/api/librl.map \
		-Wl,-z,defs -Wl,-Bsymbolic-functions -o $$@ $$(filter %.o,$$^)

$(1)/rlctl: $$(RLCTL_SRC:%.c=$(or $(6),$(1))/o/%.o) $$(RLCTL_STORE:%=$(or $(6),$(1))/o/%.o) $(or $(6),$(1))/libconfig.a $(1)/librl.a | $(1)/rl-replay
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(if $(4),$(PIE) $(4)) $$(LDFLAGS) -o $$@ $$^ $$(RLCTL_LIBS)

$(1)/libbase.a: $$(BASE_SRC:%.c=$(1)/o/%.o)
	@rm -f $$@
	$$(call say,AR)
	$$(Q)$$(AR) rcsD $$@ $$^

$(1)/rl-replay: $$(REPLAY_SRC:%.c=$(or $(6),$(1))/o/%.o) $(or $(6),$(1))/libbase.a $(or $(6),$(1))/libconfig.a $(1)/librl.a
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(if $(4),$(PIE) $(4)) $$(LDFLAGS) -o $$@ $$^ $$(REPLAY_LIBS)

$(1)/rld: $$(RLD_SRC:%.c=$(or $(6),$(1))/o/%.o) $(or $(6),$(1))/libconfig.a $(1)/librl.a
	$$(call say,LINK)
	$$(Q)$(2) $(3) $(if $(4),$(PIE) $(4)) $$(LDFLAGS) -o $$@ $$^ -ljansson -lmicrohttpd -lsystemd $$(STORE_LIBS)

# The assembler includes the files of the page, which no compiler names.
$(1)/o/rld/serve/assets.o: $$(call files,rld/serve/page/*)

# Of the objects that are optimised alone, unless CFLAGS say otherwise: after a change, the library is not optimised as a whole to run a test.
$(call PROGRAMS,$(1)/tests,$(if $(7),$(6),$(1)),$(2) $(3) $(if $(5),$(PLAIN)) $(if $(4),$(PIE) $(4)) $(LDFLAGS),$(1)/librl-parts.a,$(or $(6),$(1)))

$(if $(call seen,$(1)),-include $$(shell find $(1)/o -name '*.d' 2>/dev/null))
endef

# Sanitizers see what the compiler's atomics touch, not what libck's assembly does.
$(eval $(call VARIANT,build,$(CC),$(HARDEN) $(FORTIFY) $(CFLAGS) $(if $(filter c11,$(ATOMIC)),$(C11)),$(RELRO),$(LTO)))
$(eval $(call VARIANT,build/v/c11,gcc,-O2 $(C11),,,build))
$(eval $(call VARIANT,build/v/clang,clang,-O2,,,build))
$(eval $(call VARIANT,build/v/asan,gcc,-O1 -g1 $(C11) $(SAN)))
$(eval $(call VARIANT,build/v/hook,gcc,-O1 $(C11) -DRL_ATOMIC_HOOK,,,build))
$(eval $(call VARIANT,build/v/fuzz,clang,-O1 -g1 $(C11) -fsanitize=fuzzer-no-link -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all))
$(eval $(call VARIANT,build/v/cov,gcc,-O1 -g --coverage -Wno-maybe-uninitialized,,,build))
$(eval $(call VARIANT,build/v/tsan,clang,-O1 -g $(C11) -fsanitize=thread,,,build))

# What `make check` runs of the default build: the same tests, with the library as it is shipped.
$(eval $(call PROGRAMS,build/v/whole/tests,build,$(LINK),build/librl.a,build))

# The library on musl, static and shared. Its unit tests are linked statically, with a small cmocka, for none is
# packaged for musl; left out are those of config and rld, and one that loads a library of glibc.
MUSL      := build/v/musl
MUSL_NOT := unit/config/test_config unit/config/test_config_% $(OF_RLD) \
             unit/bindings/test_% unit/servers/test_% unit/config/test_share unit/config/test_health unit/segment/test_counters unit/decide/test_counted
MUSL_TESTS := $(patsubst %,$(MUSL)/tests/%,$(filter-out $(MUSL_NOT),$(UNIT)))
$(eval $(call VARIANT,$(MUSL),musl-gcc,-O2 $(C11) -Itests/musl -isystem $(MUSL)/kernel))
$(SUPPORT:%.c=$(MUSL)/o/%.o) $(MUSL_TESTS:$(MUSL)/%=$(MUSL)/o/%.o): | $(MUSL)/kernel
$(MUSL_TESTS): $(MUSL)/%: $(MUSL)/o/%.o $(MUSL)/o/tests/musl/cmocka.o $(MUSL)/librl.a \
               $(patsubst %.c,$(MUSL)/o/%.o,$(filter-out %/same_config.c,$(SUPPORT)))
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)musl-gcc $(MUSL_STATIC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^)

# A server that runs in an empty container.
$(MUSL)/prefork: $(MUSL)/o/examples/prefork.o $(MUSL)/librl.a
	$(call say,LINK)
	$(Q)musl-gcc -static $(LDFLAGS) -o $@ $^

MUSL_STATIC := -static
# It puts functions in the place of libc's, which only a shared libc allows.
$(MUSL)/tests/unit/api/test_errors: private MUSL_STATIC :=

# The kernel's headers, which libc's have beside them and musl-gcc does not find.
$(MUSL)/kernel: | build/need
	@mkdir -p $@
	@ln -sfn /usr/include/linux $@/linux
	@ln -sfn /usr/include/asm-generic $@/asm-generic
	@ln -sfn /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)/asm $@/asm

# The sources that say the words $(1); all, where a header says $(2), which all include.
saying = $(if $(shell grep -lE -- '$(2)' $(call files,libshm/*/*.h)),$(LIB_SRC),$(shell grep -lwE '$(1)' $(LIB_SRC)))

# A library of later: it has a counter more, by which it counts exemptions.
NEWER_SRC := $(call saying,RL_COUNT_exempted|RL_COUNTERS,RL_COUNT_exempted)
$(eval $(call VARIANT,build/v/newer,$(CC),-O1 $(PLAIN) -Ibuild/v/newer/include,,,build,$(NEWER_SRC)))
$(NEWER_SRC:%.c=build/v/newer/o/%.o): build/v/newer/include/rl_counters.def
build/v/newer/include/rl_counters.def: include/rl_counters.def
	@mkdir -p $(@D)
	@sed 's/^RL_COUNTER(exempted,/RL_COUNTER(exempted_before,/' $< >$@
	@grep '^RL_COUNTER(exempted,' $< >>$@

# A library of before, of another layout: its number is another, and two fields have changed places.
OLDER_SRC := $(call saying,RL_LAYOUT_VERSION|oldest|overflow_set,row->(oldest|overflow_set)|= RL_LAYOUT_VERSION)
$(eval $(call VARIANT,build/v/older,$(CC),-O1 $(PLAIN) -Ibuild/v/older/include,,,build,$(OLDER_SRC)))
$(OLDER_SRC:%.c=build/v/older/o/%.o): $(patsubst %,build/v/older/include/shared/%.h,layout layout_rows)
build/v/older/include/shared/%.h: libshm/shared/%.h
	@mkdir -p $(@D)
	@sed -e 's/^#define RL_LAYOUT_VERSION .*/#define RL_LAYOUT_VERSION 2/' \
		-e 's/^\tuint64_t oldest; /\tuint64_t overflow_set; /; t' -e 's/^\tuint64_t overflow_set; /\tuint64_t oldest; /' $< >$@

.SECONDARY:
FORCE:

build/prefork build/threads build/hosts: build/%: build/o/examples/%.o build/librl.a
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^ -lpthread

build/v/fuzz/fuzz_config: build/v/fuzz/o/tests/fuzz/fuzz_config.o build/v/fuzz/o/tests/support/same_config.o \
                          build/v/fuzz/libconfig.a build/v/fuzz/librl.a
	$(call say,LINK)
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ -ljansson

build/tests/bench/bench: $(patsubst %.c,build/o/%.o,$(call files,tests/bench/*.c)) build/librl.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^ -lhiredis -ljansson -lm -lpthread

build/v/fuzz/fuzz_attach: build/v/fuzz/o/tests/fuzz/fuzz_attach.o build/v/fuzz/o/tests/support/exercise.o \
                          build/v/fuzz/o/tests/support/testing.o build/v/fuzz/librl.a
	$(call say,LINK)
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ -lcmocka

build/v/fuzz/fuzz_http: build/v/fuzz/o/tests/fuzz/fuzz_http.o build/v/fuzz/librl.a
	$(call say,LINK)
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^

# rlctl as a function, and without what would change anything but its segment.
build/v/fuzz/o/rlctl/main.o: private CPPFLAGS += -Dmain=rlctl_main
comma := ,
build/v/fuzz/fuzz_rlctl: build/v/fuzz/o/tests/fuzz/fuzz_rlctl.o $(patsubst %.c,build/v/fuzz/o/%.o,$(sort $(RLCTL_SRC) $(filter-out rlctl/replay/main.c,$(REPLAY_SRC)))) $(RLCTL_STORE:%=build/v/fuzz/o/%.o) \
                         $(patsubst %,build/v/fuzz/o/tests/support/%.o,exercise testing harmless) \
                         build/v/fuzz/libconfig.a build/v/fuzz/librl.a
	$(call say,LINK)
	$(Q)clang -fsanitize=fuzzer,address,undefined -o $@ $^ -lcmocka $(RLCTL_LIBS) $(REPLAY_LIBS) \
		$(addprefix -Wl$(comma)--wrap=,rl_open rl_unlink interrupt_sleep run_top run_dump run_upgrade run_replay change_lock execvp)

build/tests/accuracy/accuracy: $(patsubst %.c,build/o/%.o,$(call files,tests/accuracy/*.c)) build/librl.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^

FLOOD := build/tests/flood/flood build/tests/flood/exact
build/tests/flood/flood: $(patsubst %,build/o/tests/flood/%.o,flood attack pinned) build/librl.a
build/tests/flood/exact: $(patsubst %,build/o/tests/flood/%.o,exact storm world log) build/librl.a
$(FLOOD):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^

# Two builds of the library, call by call: by differ A.so B.so.
build/tests/differ/differ: $(patsubst %,build/o/tests/%.o,differ/differ support/testing) build/librl.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^ -lcmocka -lpthread -ldl

# The packages that the goals of this run need: all but those that only build install them. Sorted,
# each is there once, and the option first.
needs = $(if $(filter $(1),$(MAKECMDGOALS)),--install $(2))
NEED := $(sort $(NEED_BUILD) \
        $(call needs,demo,$(NEED_DEMO)) \
        $(call needs,demo-cluster,$(NEED_BUILD) redis-server redis-tools) \
        $(call needs,build/tests/% build/v/%,$(NEED_TEST)) \
        $(call needs,bench profile,$(NEED_BENCH) valgrind) \
        $(call needs,bench-cluster,$(NEED_TEST)) \
        $(call needs,bench-peers $(ADAPTER_NAMES:%=bench-%),$(NEED_TEST) $(NEED_ADAPTERS)) \
        $(call needs,check% coverage fuzz mutants torture seats,$(NEED_CHECK) $(NEED_ADAPTERS)) \
        $(call needs,quick,$(NEED_QUICK)) \
        $(call needs,format,clang-format) \
        $(call needs,debs,build-essential debhelper dpkg-dev apt-utils $(NEED_ADAPTERS)) \
        $(call needs,site,cmark-gfm mandoc python3) \
        $(call needs,coverage,lcov) \
        $(call needs,torture seats,build-essential debhelper dpkg-dev lintian npm) \
        $(call needs,arm64,$(NEED_ARM64)))

build/need: FORCE
	@mkdir -p build
	@tests/support/need.sh $(NEED)

demo: build/prefork build/rlctl
	@examples/demo.sh build

demo-cluster: build/hosts build/rlctl build/rld
	@examples/demo-cluster.sh build

# Every unit, race and adapter's test with the library as it is shipped, on libck's atomics, and under sanitizers, on the
# compiler's. What the compiler's make of real races when they are optimised, the three programs tell that have threads and
# processes; what it and clang make of everything else, tests/differ. On the variant that tests schedule there are
# only those tests, and under TSan what runs threads on one mapping.
TESTS := $(UNIT) $(RACE) $(ADAPTERS)
LONG  := unit/algorithm/test_window unit/config/test_config_many
CHECKED := $(TESTS:%=build/v/whole/tests/%) $(TESTS:%=build/v/asan/tests/%) \
           $(RACE:%=build/v/c11/tests/%) $(SCHEDULES:%=build/v/hook/tests/%) build/v/tsan/tests/race/test_threads \
           $(CRASH:%=build/v/whole/tests/%) $(patsubst %,build/v/hook/tests/%,$(filter-out %_creation,$(CRASH))) \
           build/v/whole/tests/$(STORM) \
           build/v/whole/tests/$(SCRIBBLE) build/v/asan/tests/$(SCRIBBLE) \
           build/v/whole/tests/$(HOSTILE) build/v/asan/tests/$(HOSTILE) \
           build/tests/$(RLD_FUZZ) $(CLUSTER:%=build/tests/%) $(patsubst %,build/v/asan/tests/%,$(filter-out cluster/test_hosts,$(CLUSTER)))

# Once in full is enough of what repeats itself: sanitizers and the second build see the same in an
# eighth.
SCALED := $(patsubst %,build/v/asan/tests/%,$(LONG) $(RACE) $(ADAPTERS) $(CLUSTER)) build/v/asan/tests/unit/segment/test_tables \
          $(RACE:%=build/v/tsan/tests/%) $(CRASH:%=build/v/hook/tests/%)
RUN_CHECKED := $(foreach test,$(CHECKED),'$(if $(filter $(SCALED),$(test)),RL_TEST_SCALE=quick )$(test)')

# The longest first. Sanitizers see what is no script, but for arguments, configurations and what is
# replayed: these are fuzzed with the same sanitizers, and config/ has its unit tests.
CLI      := tests/cli/rld.bats $(filter-out tests/cli/rld.bats,$(call files,tests/cli/*.bats))
CLI_ASAN := $(filter-out $(addprefix tests/cli/,$(addsuffix .bats,arguments completion config examples manual \
            replay replay_follow replay_recipes replay_rules)),$(CLI))

# What sanitizers see is run once in a check; `make quick` and `make torture` run the programs that are installed.
CLI_PLAIN := $(filter-out $(CLI_ASAN),$(CLI))

# Of all that, on the default build alone: each module and adapter, each chosen schedule in an eighth of its
# forms, and of the command line what tells of a request and its counter. The rest of it starts processes for minutes.
QUICK     := $(UNIT:%=build/tests/%) $(ADAPTERS:%=build/tests/%) $(SCHEDULES:%=build/v/hook/tests/%)
HOUSE     := $(call files,tests/house/*.py)
QUICK_CLI := $(addprefix tests/cli/,$(addsuffix .bats,check counters manual stats width))

# What the tests of the command line ask besides; those of an upgrade, as it was before.
CLI_NEEDS := $(foreach v,build build/v/older,$(v)/tests/cli/fill $(v)/tests/cli/worker) build/v/older/rlctl

quick: all check-mutants check-exports $(QUICK) $(filter build/tests/%,$(CLI_NEEDS))
	@RL_TEST_SCALE=quick tests/support/run.sh $(QUICK_CLI:%='tests/cli/run.sh build/rlctl %') $(QUICK) $(HOUSE)

# What the tests of a check run, and mutants are linked with.
CHECK_BUILDS := all build/librl-parts.a build/v/hook/librl-parts.a build/v/asan/librl-parts.a $(CHECKED) $(CLI_NEEDS) \
                build/v/asan/rlctl build/v/asan/rld build/prefork build/threads build/hosts build/tests/accuracy/accuracy $(FLOOD) \
                build/tests/bench/bench build/tests/differ/differ build/v/c11/librl.so.1 build/v/clang/librl.so.1 \
                build/v/fuzz/fuzz_config build/v/fuzz/fuzz_attach \
                build/v/fuzz/fuzz_rlctl build/v/fuzz/fuzz_http $(MUSL_TESTS) $(MUSL)/librl.so.1 $(MUSL)/prefork $(ADAPTER_BUILDS)

# A twelfth of the mutants, with each commit another; `make mutants` plays all.
TWELFTH := $(shell expr $$(git rev-list --count HEAD 2>/dev/null || echo 0) % 12)

check: $(CHECK_BUILDS) check-mutants check-format check-headers check-clang check-exports
	@RL_TEST_AGAIN=1 tests/support/run.sh $(ADAPTER_CHECKS) 'RL_TEST_NETWORK=shared tests/systemd/run.sh' tests/model/run.sh \
		'tests/mutants/run.sh $(TWELFTH) 12' \
		$(CLI_PLAIN:%='tests/cli/run.sh build/rlctl %') \
		$(CLI_ASAN:%='tests/cli/run.sh build/v/asan/rlctl %') \
		tests/fuzz/check.sh tests/fuzz/attach.sh tests/fuzz/rlctl.sh \
		tests/fuzz/http.sh \
		tests/relacy/run.sh \
		'build/tests/differ/differ build/librl.so.1 build/v/c11/librl.so.1' \
		'build/tests/differ/differ build/librl.so.1 build/v/clang/librl.so.1 50000 2' \
		tests/accuracy/check.sh tests/flood/check.sh tests/install/hardening.sh $(RUN_CHECKED) tests/cli/demo.sh 'examples/demo-cluster.sh build' tests/bench/check.sh \
		'tests/musl/run.sh $(MUSL_TESTS)' tests/container/run.py \
		tests/house/recipes/run.py tests/config/schema.py tests/config/manual.sh $(HOUSE) \
		tests/install/run.sh tests/install/manual.sh tests/install/readme.sh \
		'tests/install/document.py docs/COOKBOOK.md docs/COMPARE.md docs/CRAWLERS.md docs/FAQ.md docs/CLUSTER.md docs/MOVING.md' \
		tests/page/pictures.py tests/page/screens.py tests/page/site.py tests/package/dist.sh tests/abi/run.sh tests/support/check.sh

# clang-format 14 decides, which is Debian 12's: each version lays out a few lines otherwise.
check-format: | build/need
	@case "$$(clang-format --version)" in \
		*' version 14.'*) clang-format --dry-run -Werror $(SOURCES) ;; \
		*) echo 'check-format: clang-format is not version 14; the layout of C is not checked' ;; \
	esac
	@shellcheck -x .ci/run $(call files,examples/*.sh tests/*/*.sh servers/*/*.sh servers/*/*/*.sh bindings/*/*.sh bindings/*/*/*.sh \
		debian/rl-tools.p*)
	@mandoc -T lint -W warning man/*.[1-8]
	@! mandoc -T lint -W style man/*.[1-8] 2>/dev/null | grep "line longer"

# Each public header compiles alone, as C and as C++, and says what machines it is not for.
check-headers: | build/need
	@for h in $(filter %.h,$(HEADERS)); do \
		echo "#include <$$h>" | $(CC) -std=c11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -xc - && \
		printf '#include <%s>\n#include <rl.h>\nint e = RL_EVERSION + RL_EOWNER;\n' $$h | clang++ -Wall -Wextra -Werror -Iinclude -fsyntax-only -xc++ - || exit 1; \
	done
	@for target in i386-linux-gnu x86_64-linux-gnux32 arm-linux-gnueabihf; do \
		echo '#include <rl.h>' | clang --target=$$target -Iinclude -fsyntax-only -xc - 2>&1 | \
			grep -q 'error: "rl is for 64-bit' || { echo "rl.h does not refuse $$target"; exit 1; }; \
	done

# clang warns of nothing: it compiles libshm, config and rlctl for differ and the fuzzers, and is asked here about the rest.
check-clang: | build/need
	@printf '%s\n' $(RLD_SRC) $(call files,examples/*.c tests/*/*.c tests/unit/*/*.c) | xargs -P $(shell nproc) -n 8 \
		clang $(filter-out -MMD -MP,$(RL_FLAGS)) $(call dirs,tests/) -fsyntax-only

# Each mutant still changes a line, and its test is there.
check-mutants:
	@tests/mutants/stale.sh

# What the library exports is what the map says; and it calls nothing that reads the environment,
# writes for people, starts a process, or ends its caller. The programs read no environment but
# where it may be trusted.
FORBIDDEN := (secure_)?getenv|environ|v?d?printf|puts|perror|exit|abort|syslog|signal|sigaction|fork|system|popen|execv.*|dlopen
check-exports: build/librl.so.1 build/rlctl build/rl-replay build/rld
	@nm -D --defined-only $< | awk '$$3 !~ /^RL_0/ { sub(/@.*/, "", $$3); print $$3 }' | sort >build/exports
	@sed -n 's/^\t\t\(rl_[a-z_]*\);/\1/p' libshm/api/librl.map | sort | diff - build/exports
	@sed -n 's/^ \(rl_[a-z_]*\)@.*/\1/p' debian/librl1.symbols | sort | diff - build/exports
	@! nm -D --undefined-only $< | awk '{ sub(/@.*/, "", $$2); print $$2 }' | grep -Ex '(__)?($(FORBIDDEN))(_chk)?'
	@! nm -D --undefined-only build/rlctl build/rl-replay build/rld | grep -Ew 'getenv|environ'

mutants: $(CHECK_BUILDS)
	@tests/support/run.sh $(foreach n,0 1 2 3,'tests/mutants/run.sh $(n) 4')

MINUTES ?= 10
torture: mutants $(FLOOD) $(CRASH:%=build/v/whole/tests/%) $(CLUSTER:%=build/tests/%) build/v/whole/tests/$(STORM) build/v/whole/tests/race/test_holders build/rld build-python build-ruby build-php | build/need
	RL_STORM_SECONDS=$$(($(MINUTES) * 60)) build/v/whole/tests/$(STORM)
	RL_STORM_SECONDS=$$(($(MINUTES) * 60)) build/v/whole/tests/race/test_holders
	tests/support/run.sh $(CLI:%='tests/cli/run.sh build/rlctl %')
	RL_TAKE_CALLS=1000000 build/tests/cluster/test_take
	RL_POLICY_SEEDS=10000 build/tests/cluster/test_policy
	RL_POLICY_SEEDS=10000 build/tests/cluster/test_blind
	RL_POLICY_SEEDS=10000 build/tests/cluster/test_admits
	RL_SHARE_RUNS=5000 build/tests/cluster/test_shares
	RL_LLM_WINDOW=60 bindings/python/tests/run.sh bindings/python/tests/test_llm_proxy.py
	build/tests/flood/exact --requests 100000000 --seed 1000000
	build/tests/flood/exact --kills 60 --seed 1000000
	for queue in celery sidekiq laravel; do RL_JOBS=2000 bindings/common/tests/jobs/run.py $$queue || exit; done
	tests/model/run.sh torture
	tests/relacy/run.sh 5000000
	for test in $(CRASH); do RL_CRASH_EVERY=1 build/v/whole/tests/$$test || exit; done
	tests/cluster/valkey.sh
	$(MAKE) seats

# What needs a root of its own, or another Debian: packages, the releases of Debian, a tarball's build.
seats: | build/need
	tests/package/dist.sh whole
	tests/install/hardening.sh whole
	tests/package/run.sh
	tests/package/artefacts.sh bookworm trixie
	tests/package/repository.sh bookworm trixie
	$(PYTHON) bindings/python/tests/pyright.py
	tests/releases/run.sh bookworm trixie

coverage: $(patsubst %,build/v/cov/tests/%,$(UNIT) $(RACE))
	@tests/coverage/run.sh $^

arm64: | build/need
	@tests/arm64/run.sh

accuracy: build/tests/accuracy/accuracy
	@$<

flood: $(FLOOD)
	@build/tests/flood/flood
	@build/tests/flood/exact --requests 100000000 --seed 1000000
	@build/tests/flood/exact --kills 60 --seed 1000000

FUZZ_SECONDS ?= 300
fuzz: build/v/fuzz/fuzz_config build/v/fuzz/fuzz_attach build/v/fuzz/fuzz_rlctl build/v/fuzz/fuzz_http build/v/asan/rlctl build/v/asan/rld \
      build/v/asan/tests/$(SCRIBBLE) build/v/asan/tests/$(HOSTILE) build/tests/$(RLD_FUZZ)
	@tests/fuzz/check.sh $(FUZZ_SECONDS)
	@tests/fuzz/attach.sh $(FUZZ_SECONDS)
	@tests/fuzz/rlctl.sh $(FUZZ_SECONDS)
	@tests/fuzz/http.sh $(FUZZ_SECONDS)
	@RL_FUZZ_CASES=$$(($(FUZZ_SECONDS) * 4000)) build/v/asan/tests/$(SCRIBBLE)
	@RL_FUZZ_CASES=$$(($(FUZZ_SECONDS) * 333334)) build/v/asan/tests/$(HOSTILE)
	@RL_FUZZ_CASES=$$(($(FUZZ_SECONDS) * 400)) build/tests/$(RLD_FUZZ)

# Tables for people; the same as JSON; and a picture drawn from that.
bench: build/tests/bench/bench build/rlctl
	@$< --save build/bench.json
	@tests/bench/picture.py build/bench.json >build/bench.svg

# Its figures and its picture, for README.md and docs/NUMBERS.md: after a run on a machine that does nothing else. With
# those of `make profile`, if that was run.
figures: build/bench.json
	@tests/bench/figures.py build/bench.json
	@cp build/bench.svg docs/bench.svg

# The same of a cluster: the script, questions, a million keys in use, a master that dies. Some minutes.
bench-cluster: build/v/whole/tests/cluster/bench
	@$<

# One after the other: they would disturb each other.
PEERS := python node ruby php lua nginx apache
bench-peers:
	@failed=; for name in $(PEERS); do echo "## $$name"; $(MAKE) --no-print-directory bench-$$name || failed="$$failed $$name"; done; \
		[ -z "$$failed" ] || { echo "not as it is to be:$$failed"; exit 1; }

# Instructions of each lane; with LANE=admit, by function.
profile: build/tests/bench/bench
	@tests/bench/profile.sh $(LANE) >build/profile.new
	@cat build/profile.new
	@$(if $(LANE),rm,mv) build/profile.new $(if $(LANE),,build/profile.txt)

# The source: what git knows, and where it tells nothing, as in a tarball, what is there. Nothing of this machine or of today is in it:
# files have the date of the last entry of debian/changelog.
DIST = rl-$(VERSION)
dist:
	@rm -rf build/dist && mkdir -p build/dist
	@{ { [ -e .git ] && git ls-files -z; } || find . \( -path ./build -o -path ./.git \) -prune -o ! -type d -printf '%P\0'; } | LC_ALL=C sort -z >build/dist/files
	@tar --create --file=build/dist/$(DIST).tar --null --files-from=build/dist/files --format=ustar --owner=0 --group=0 --numeric-owner \
		--mode=u=rwX,go=rX --mtime="$$(sed -n '/^ -- /{s/.*>  //p;q}' debian/changelog)" --transform='s,^,$(DIST)/,S'
	@rm build/dist/files && gzip -n9 build/dist/$(DIST).tar
	@cd build/dist && sha256sum $(DIST).tar.gz >SHA256SUMS && cat SHA256SUMS

# In a copy, for a package's build leaves files beside its sources. The repository is flat: deb [trusted=yes] file:/.../build/debs ./
debs: dist | build/need
	@rm -rf build/debs && mkdir -p build/debs/source
	@tar -x -f build/dist/$(DIST).tar.gz -C build/debs/source
	@cd build/debs/source/$(DIST) && { dpkg-checkbuilddeps || $$([ "$$(id -u)" = 0 ] || echo sudo) apt-get build-dep -y ./; }
	@cd build/debs/source/$(DIST) && DEB_BUILD_OPTIONS="noautodbgsym $$DEB_BUILD_OPTIONS" dpkg-buildpackage -us -uc -b -j$(shell nproc)
	@mv build/debs/source/*.deb build/debs/source/*.changes build/debs/source/*.buildinfo build/debs/ && rm -rf build/debs/source
	@cd build/debs && dpkg-scanpackages --multiversion . >Packages && gzip -9kn Packages && apt-ftparchive release . >../Release && mv ../Release .

site: | build/need
	@rm -rf build/site
	@docs/site.py build/site

# Where things go. /etc is left to the administrator.
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
SBINDIR    ?= $(PREFIX)/sbin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/rl
UNITDIR    ?= $(PREFIX)/lib/systemd/system
ZSHDIR     ?= $(DATADIR)/zsh/site-functions

HEADERS := $(notdir $(call files,include/*.h include/*.def))
MAN     := $(call files,man/*.[1-8])
# A page of several calls is found by each of their names.
ALIASES := $(shell awk '/^\.Sh/ { naming = $$2 == "NAME" } naming && $$1 == ".Nm" { \
	page = FILENAME; gsub(/^.*\/|\.3$$/, "", page); if ($$2 != page) print $$2 ".3," page }' \
	$(call files,man/*.3))
EXAMPLES := $(filter-out examples/demo.sh examples/demo-cluster.sh,$(call files,examples/*.[ch] examples/*.py examples/*.sh))

# mode, source, destination
INSTALLED := \
	755,build/rlctl,$(BINDIR)/rlctl \
	755,build/rl-replay,$(BINDIR)/rl-replay \
	755,build/rld,$(SBINDIR)/rld \
	644,build/librl.a,$(LIBDIR)/librl.a \
	644,build/librl.so.1,$(LIBDIR)/librl.so.$(VERSION) \
	$(foreach h,$(HEADERS),644,include/$(h),$(INCLUDEDIR)/$(h)) \
	644,build/rl.pc,$(LIBDIR)/pkgconfig/rl.pc \
	$(foreach m,$(MAN),644,$(m),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	644,build/completion.bash,$(DATADIR)/bash-completion/completions/rlctl \
	644,build/completion.zsh,$(ZSHDIR)/_rlctl \
	644,build/completion.fish,$(DATADIR)/fish/vendor_completions.d/rlctl.fish \
	644,build/rld.service,$(UNITDIR)/rld.service \
	644,build/rld@.service,$(UNITDIR)/rld@.service \
	644,systemd/rld-metrics.socket,$(UNITDIR)/rld-metrics.socket \
	644,systemd/rld-metrics.service,$(UNITDIR)/rld-metrics.service \
	$(foreach f,$(call files,systemd/prometheus/*.yml),644,$(f),$(DATADIR)/rl/$(f:systemd/%=%)) \
	644,systemd/rl.sysusers,$(PREFIX)/lib/sysusers.d/rl.conf \
	644,systemd/rl.tmpfiles,$(PREFIX)/lib/tmpfiles.d/rl.conf \
	644,rld/dashboard.json,$(DATADIR)/rl/dashboard.json \
	$(foreach f,$(call files,systemd/fail2ban/*/*.conf),644,$(f),$(DATADIR)/rl/$(f:systemd/%=%)) \
	644,config/rl.schema.json,$(DATADIR)/rl/rl.schema.json \
	644,rlctl/output.schema.json,$(DATADIR)/rl/output.schema.json \
	644,config/rl.json,$(DOCDIR)/examples/rl.json \
	$(foreach e,$(EXAMPLES),$(if $(filter %.sh,$(e)),755,644),$(e),$(DOCDIR)/$(e)) \
	644,LICENSE,$(DOCDIR)/LICENSE

# link, and what it says
LINKED := \
	$(LIBDIR)/librl.so.1,librl.so.$(VERSION) \
	$(LIBDIR)/librl.so,librl.so.1 \
	$(DATADIR)/bash-completion/completions/rl-replay,rlctl \
	$(DATADIR)/fish/vendor_completions.d/rl-replay.fish,rlctl.fish \
	$(ALIASES:%=$(MANDIR)/man3/%.3)

build/rl.pc: rl.pc.in FORCE
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

build/rld%service: systemd/rld%service FORCE
	@sed -e 's|/usr/sbin/rld|$(SBINDIR)/rld|; s|/usr/bin/rlctl|$(BINDIR)/rlctl|' $< >$@

build/completion.%: build/rlctl
	@$< completion $* >$@

install: all build/rl.pc build/rld.service build/rld@.service $(addprefix build/completion.,bash zsh fish)
	@printf '%s\n' $(INSTALLED) | while IFS=, read -r mode from to; do \
		install -D -m $$mode "$$from" "$(DESTDIR)$$to" || exit 1; \
	done
	@printf '%s\n' $(LINKED) | while IFS=, read -r link to; do \
		ln -sf "$$to" "$(DESTDIR)$$link" || exit 1; \
	done
	$(if $(DESTDIR),,@ldconfig 2>/dev/null || echo 'rl: now have ldconfig run as root')

# Directories are removed if they are rl's own and nothing else is in them.
uninstall:
	@printf '%s\n' $(INSTALLED) | while IFS=, read -r mode from to; do rm -f "$(DESTDIR)$$to"; done
	@printf '%s\n' $(LINKED) | while IFS=, read -r link to; do rm -f "$(DESTDIR)$$link"; done
	@for dir in $(addprefix $(DATADIR)/rl/,prometheus fail2ban/filter.d fail2ban/action.d fail2ban/jail.d fail2ban) $(DATADIR)/rl $(DOCDIR)/examples $(DOCDIR); do \
		[ ! -d "$(DESTDIR)$$dir" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$dir"; \
	done
	$(if $(DESTDIR),,@ldconfig 2>/dev/null || :)

# The picture of the documentation, of a real run.
status-page: build/rld build/rlctl build/tests/cli/fill
	tests/page/picture.sh docs/status-page.png

format: | build/need
	clang-format -i $(SOURCES)

clean:
	rm -rf build
