#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make nginx-module: the modules for an nginx that is there, from its source; that of Debian's, as its mirror has it."""
import http.client
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import urllib.request

import harness
from harness import NGINX, TOP, Case, main

INDEX = ["apt-get", "indextargets", "--format", "$(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
PROXY = ["apt-config", "--format", "%v", "dump", "Acquire::http::Proxy"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def source_of(version, directory):
    """Debian's, without its patches: no flag is in these."""
    mirror = next(line.split()[1] for line in output(*INDEX).splitlines() if line.startswith("main "))
    proxy = output(*PROXY).strip()
    ask = urllib.request.build_opener(*([urllib.request.ProxyHandler({"http": proxy})] if proxy else []))
    packed = os.path.join(directory, "nginx.tar.gz")
    with ask.open(f"{mirror}pool/main/n/nginx/nginx_{version}.orig.tar.gz", timeout=60) as answer, open(packed, "wb") as file:
        shutil.copyfileobj(answer, file)
    with tarfile.open(packed) as archive:
        archive.extractall(directory)
    return os.path.join(directory, f"nginx-{version}")


def files(directory):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(directory) for name in names)


class Module(Case):
    @classmethod
    def setUpClass(cls):
        cls.told = subprocess.run([NGINX, "-V"], capture_output=True, text=True, check=True).stderr
        cls.version = re.search(r"nginx/([\d.]+)", cls.told)[1]
        cls.work = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.work)
        try:
            cls.source = source_of(cls.version, cls.work)
        except (OSError, http.client.HTTPException, tarfile.TarError, StopIteration) as error:
            raise unittest.SkipTest(f"the source of nginx {cls.version} cannot be had: {error}") from error

    def make(self, source, nginx=NGINX):
        """What is said, and where the modules are, or None."""
        out = tempfile.mkdtemp(dir=self.work)
        done = subprocess.run([f"{TOP}/servers/nginx/module.sh", source, out], capture_output=True, text=True, check=False,
                              env={**os.environ, "RL_NGINX": nginx})
        return done.stdout + done.stderr, out if done.returncode == 0 else None

    def fails(self, source, *texts, nginx=NGINX):
        said, out = self.make(source, nginx)
        self.assertIsNone(out, said)
        for text in texts:
            self.assertIn(text, said)

    def other_nginx(self, change):
        """It tells other flags than it was built with."""
        path = os.path.join(self.work, "other-nginx")
        with open(NGINX, "rb") as file:
            signature = re.search(rb"\d+,\d+,\d+,[01]{20,}", file.read())[0].decode()
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n# {signature}\ncat <<'END' >&2\n{change(self.told)}\nEND\n")
        os.chmod(path, 0o755)
        return path

    def test_it_loads_and_limits(self):
        before = files(self.source)
        said, out = self.make(self.source)
        self.assertIsNotNone(out, said)
        self.assertEqual(files(self.source), before, "the source is left as it is")
        self.assertIn(f"for {NGINX} {self.version}", said)
        harness.MODULES, usual = out, harness.MODULES
        try:
            n = self.nginx("rl_rule r 5/h; server { listen 127.0.0.1:%PORT%; root html; rl_limit r; }",
                           stream="rl_rule s 5/h; server { listen 127.0.0.1:%STREAM_PORT%; rl_limit s; return ok; }")
            self.assertEqual(n.statuses("/", 8).count(429), 3)
        finally:
            harness.MODULES = usual

    def test_other_flags(self):
        """Without --with-compat, a module has to have been built with all that the program was."""
        self.fails(self.source, "was built with other flags than it tells", "it would refuse it",
                   nginx=self.other_nginx(lambda told: told.replace("--with-compat", "").replace("-O2", "-O0")))

    def test_other_version(self):
        self.fails(self.source, f"{self.source} is nginx {self.version}", "is 1.2.3", "of its own version only",
                   nginx=self.other_nginx(lambda told: told.replace(self.version, "1.2.3")))

    def test_no_source(self):
        self.fails(self.work, f"{self.work}: no source of nginx")
        self.fails(self.source, "no-such-nginx: there is no such program", nginx="no-such-nginx")
        self.fails("", "which source?")


if __name__ == "__main__":
    main()
