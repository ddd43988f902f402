# SPDX-License-Identifier: BSD-2-Clause
# The binding for Python: see README.md.
#
#   make build-python       build/python/rl, a package that runs with PYTHONPATH=build/python
#   make check-python       its tests, with the servers and frameworks of Debian
#   make install-python     into PYTHONDIR, where PYTHON finds it
#   make wheel-python       the same built, for machines of this kind without a compiler
#   make wheels-python      and for musl and arm64
#   make sdist-python       build/python/dist/rl_shm-VERSION.tar.gz, which pip builds where librl is not installed
#   make peers-python       the suites of limits and Flask-Limiter on it: see tests/peers.py
#   make bench-python       what a call costs, beside librl and other stores

PYTHON     ?= /usr/bin/python3
PYTHONDIR  ?= $(shell $(PYTHON) -c 'import sysconfig as s; p = "$(PREFIX)"; print(p + "/lib/python3/dist-packages" if p == "/usr" \
	else s.get_path("platlib") if p == "/usr/local" else s.get_path("platlib", "posix_prefix", {"platbase": p, "base": p}))')
PY_SRC     := $(call files,bindings/python/src/*.c)
PY_COMMON  := $(call files,bindings/common/*.c)
PY_FILES   := $(call files,bindings/python/rl/*.py bindings/python/rl/*.pyi bindings/python/rl/py.typed)
PY_TESTS   := $(call files,bindings/python/tests/test_*.py)
PY_INCLUDE  = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')
NEED_PYTHON_BUILD := python3-dev
NEED_PYTHON := $(NEED_PYTHON_BUILD) python3-pytest python3-flask python3-limits python3-flask-limiter python3-django \
               python3-djangorestframework python3-starlette python3-fastapi python3-aiohttp python3-httpx uvicorn gunicorn uwsgi-core \
               uwsgi-plugin-python3 python3-celery python3-rq python3-redis redis-server python3-hiro python3-setuptools python3-pip python3-wheel python3-dbg mypy

NEED_BUILD     += $(if $(filter sdist-python,$(MAKECMDGOALS)),python3-setuptools) \
                  $(if $(filter build-python install-python,$(MAKECMDGOALS)),$(NEED_PYTHON_BUILD))
NEED_BUILD     += $(if $(filter bench-python,$(MAKECMDGOALS)),$(NEED_PYTHON_BUILD) python3-limits python3-redis python3-pymemcache redis-server memcached)
NEED_ADAPTERS  += $(NEED_PYTHON)
ADAPTER_BUILDS += build-python build/python/installed/rl/_rl.abi3.so build/python/asan/rl/_rl.abi3.so build/python/dbg/rl/_rl.abi3.so
# The long ones first.
PY_CHECKS      := bindings/python/tests/asan.sh 'bindings/common/tests/jobs/run.py celery' 'bindings/common/tests/jobs/recipes.py python' 'bindings/common/tests/origin.sh python build/python/rl/_rl.abi3.so' $(patsubst %,'bindings/python/tests/run.sh %',$(filter %_servers.py %_sdist.py %_llm_proxy.py,$(PY_TESTS)) \
                  $(filter-out %_servers.py %_sdist.py %_llm_proxy.py,$(PY_TESTS)))
ADAPTER_CHECKS += $(PY_CHECKS)

# One set of rules for each way to build: $(1) directory, $(2) flags, $(3) the library, $(4) flags to link with,
# $(5) where Python's headers are.
define PY_VARIANT
$(1)/o/%.o: bindings/python/src/%.c build/flags | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(RL_FLAGS) $(2) $$(CPPFLAGS) -DPy_LIMITED_API=0x030B0000 -Iinclude -Ibindings/common $(5) -c -o $$@ $$<

$(1)/o/common/%.o: bindings/common/%.c build/flags | build/need
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(RL_FLAGS) $(2) $$(CPPFLAGS) -Iinclude -c -o $$@ $$<

$(1)/rl/_rl.abi3.so: $$(PY_SRC:bindings/python/src/%.c=$(1)/o/%.o) $$(PY_COMMON:bindings/common/%.c=$(1)/o/common/%.o) $(3)
	@mkdir -p $$(@D)
	$$(call say,LINK)
	$$(Q)$$(CC) $(2) -shared $(4) $$(LDFLAGS) -o $$@ $$(filter %.o %.a %.so.1,$$^) -lm
	@cp $$(PY_FILES) $$(@D)/

-include $$(wildcard $(1)/o/*.d $(1)/o/common/*.d)
endef

$(eval $(call PY_VARIANT,build/python,$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1,$(RELRO) $$(call rpath,xx),-isystem $$(PY_INCLUDE)))
$(eval $(call PY_VARIANT,build/python/installed,$(HARDEN) $(FORTIFY) $(CFLAGS),build/librl.so.1,$(RELRO),-isystem $$(PY_INCLUDE)))
$(eval $(call PY_VARIANT,build/python/asan,-O1 -g $(SAN),build/v/asan/librl.a,,-isystem $$(PY_INCLUDE)))
# For python3-dbg, which counts references. Its headers are links, which -isystem would follow.
$(eval $(call PY_VARIANT,build/python/dbg,-O1 -g -w,build/librl.so.1,,-I$$(PY_INCLUDE)d))

PY_ALL := $(foreach one,build/python build/python/installed build/python/asan build/python/dbg,$(one)/rl/_rl.abi3.so)
$(PY_ALL): $(PY_FILES)

build-python: build/python/rl/_rl.abi3.so

check-python: build-python $(PY_ALL) build/rlctl build/rld | build/need
	@tests/support/run.sh $(PY_CHECKS)

install-python: build/python/installed/rl/_rl.abi3.so
	@install -d '$(DESTDIR)$(PYTHONDIR)/rl'
	@install -m 644 $(PY_FILES) build/python/installed/rl/_rl.abi3.so '$(DESTDIR)$(PYTHONDIR)/rl'

# Beside Redis and memcached, if they are installed.
build/python/bare: bindings/python/bench/bare.c build/librl.a | build/need
	$(call say,LINK)
	$(Q)$(LINK) -std=c11 -D_GNU_SOURCE -Iinclude -o $@ $^

# In a copy, for setuptools writes beside what it reads.
sdist-python: | build/need
	@rm -rf build/python/dist build/python/tree
	@mkdir -p build/python/tree/bindings
	@cp -r libshm include Makefile LICENSE build/python/tree/
	@cp -r bindings/python bindings/common build/python/tree/bindings/
	@cd build/python/tree/bindings/python && $(PYTHON) setup.py -q sdist --dist-dir $(CURDIR)/build/python/dist
	@rm -rf build/python/tree

# For who has no compiler, with CPython 3.11 and later: $(1) a directory, $(2) its compiler, $(3) where its libc is, before where
# Python looks for one, $(4) the kind of machine, $(5) the libc's name: that one and later ones. One kind of machine has the headers of
# another: what differs in them is no part of the limited API.
define wheel
	@rm -rf $(1) && mkdir -p $(1)/include
	@ln -s $(PY_INCLUDE)/../$$(gcc -print-multiarch) $(1)/include/$(4)-linux-gnu
	@tar -x -C $(1) -f build/python/dist/rl_shm-$(VERSION).tar.gz
	@cd $(1)/rl_shm-$(VERSION) && CC='$(2)' LDSHARED='$(2) -shared -s $(3)' CFLAGS='-O2 -g0 -I$(CURDIR)/$(1)/include' _PYTHON_HOST_PLATFORM=linux-$(4) \
		$(PYTHON) setup.py -q bdist_wheel --dist-dir $(CURDIR)/build/python/dist --plat-name $(5)_$(4)
	@rm -rf $(1)
endef
PY_GLIBC = manylinux_$(shell getconf GNU_LIBC_VERSION | sed 's/.* //; s/\./_/')
PY_KIND := $(firstword $(subst -, ,$(MACHINE)))

# For machines of this kind.
wheel-python: sdist-python
	$(call wheel,build/python/wheel,$(CC),,$(PY_KIND),$(PY_GLIBC))

# For other machines, too, as far as there are compilers: Alpine, and arm64.
wheels-python: wheel-python
	$(call wheel,build/python/wheel,musl-gcc,-L/usr/lib/$(PY_KIND)-linux-musl,$(PY_KIND),musllinux_1_2)
ifeq ($(PY_KIND),x86_64)
	$(call wheel,build/python/wheel,aarch64-linux-gnu-gcc,-L/usr/aarch64-linux-gnu/lib,aarch64,$(PY_GLIBC))
endif

.PHONY: sdist-python wheel-python wheels-python peers peers-python bench-python
bench-python: build-python build/python/bare
	@LD_LIBRARY_PATH=build PYTHONPATH=build/python $(PYTHON) bindings/python/bench/bench.py build/python/bare

# The suites of the originals, from Debian's source packages.
peers: peers-python
peers-python: build-python
	@$(PYTHON) bindings/python/tests/peers.py
