#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Dovecot with examples/dovecot.lua before its passwords: attempts of all its auth workers are counted together."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

s.need("dovecot", "doveadm")
s.need_root()

COMMON = """
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/dovecot.log
default_login_user = dovenull
default_internal_user = dovecot
ssl = no
auth_failure_delay = 0
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
import_environment = RL_SEGMENT LD_LIBRARY_PATH LUA_PATH_5_4 LUA_CPATH_5_4
service auth {{
  unix_listener auth-client {{
    mode = 0600
  }}
}}
"""

BEFORE_2_4 = "protocols =" + COMMON + """
passdb {{
  driver = lua
  args = file={script} blocking=yes
  result_internalfail = return-fail
}}
passdb {{
  driver = passwd-file
  args = {passwords}
}}
userdb {{
  driver = passwd-file
  args = {passwords}
}}
"""

SINCE_2_4 = """dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
protocols {{
}}""" + COMMON.replace("= RL_SEGMENT LD_LIBRARY_PATH LUA_PATH_5_4 LUA_CPATH_5_4", """{{
  RL_SEGMENT =%{{env:RL_SEGMENT}}
  LD_LIBRARY_PATH =%{{env:LD_LIBRARY_PATH}}
  LUA_PATH_5_4 =%{{env:LUA_PATH_5_4}}
  LUA_CPATH_5_4 =%{{env:LUA_CPATH_5_4}}
}}""") + """
passdb lua {{
  lua_file = {script}
  use_worker = yes
  result_internalfail = return-fail
}}
passdb passwd-file {{
  passwd_file_path = {passwords}
}}
userdb passwd-file {{
  passwd_file_path = {passwords}
}}
"""


class Dovecot(unittest.TestCase):
    def setUp(self):
        self.segment = s.segment(self.id().rsplit(".", 1)[1])
        self.home = tempfile.mkdtemp(dir=s.work)  # a Dovecot that ends leaves its sockets where they are
        os.chmod(self.home, 0o755)
        self.door = f"{self.home}/run/auth-client"
        for name in ("run", "state"):
            os.mkdir(f"{self.home}/{name}")
        script = os.path.join(s.work, "rl.lua")
        shutil.copy(os.path.join(s.TOP, "bindings/lua/examples/dovecot.lua"), script)
        passwords = s.write("passwd", "".join(f"{user}:{{PLAIN}}secret:65534:65534::/nowhere\n"
                                              for user in ("alice", "bob")))
        version = subprocess.run(["dovecot", "--version"], capture_output=True, text=True, check=True).stdout
        config = BEFORE_2_4 if version.startswith("2.3") else SINCE_2_4
        self.config = s.write("dovecot.conf", config.format(home=self.home, script=script, passwords=passwords))
        os.environ.update(RL_SEGMENT=self.segment, LUA_PATH_5_4=f"{s.SHARE}/?.lua;;",
                          LUA_CPATH_5_4=f"{s.BUILD}/5.4/?.so;;")
        self.process = s.start(["dovecot", "-F", "-c", self.config])
        self.addCleanup(lambda: s.end(self.process))
        s.eventually(self.is_open, "Dovecot listens")

    def is_open(self):
        with socket.socket(socket.AF_UNIX) as door:
            return door.connect_ex(self.door) == 0

    def try_it(self, user, password="secret", address="192.0.2.1"):
        """What Dovecot answers: "right", "wrong" or "later"."""
        done = subprocess.run(["doveadm", "-c", self.config, "auth", "test", "-x", f"rip={address}", "-a",
                               self.door, user, password], capture_output=True, text=True,
                              env=s.environment(), timeout=s.PATIENCE, check=False)
        if done.returncode == 0:
            return "right"
        self.assertIn("auth failed", done.stdout, done.stderr)
        return "later" if "code=temp_fail" in done.stdout else "wrong"

    def log(self):
        with open(f"{self.home}/dovecot.log", encoding="utf-8") as file:
            return file.read()

    def test_attempts_are_counted_together(self):
        self.assertEqual(self.try_it("alice"), "right", s.log() + self.log())
        self.assertEqual(self.try_it("alice", "guess"), "wrong")
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda i: self.try_it("alice", address=f"198.51.100.{i}"), range(24)))
        self.assertEqual((answers.count("right"), answers.count("later")), (8, 16), s.log() + self.log())
        self.assertEqual(self.try_it("bob"), "right")
        self.assertIn("10", s.rlctl("--segment", self.segment, "get", "auth-user", "alice"))

    def test_an_address_is_limited_whoever_it_tries(self):
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda i: self.try_it(f"user{i}", "guess"), range(30)))
        self.assertEqual((answers.count("wrong"), answers.count("later")), (20, 10))

    def test_a_worker_that_is_killed_loses_no_count(self):
        answers = [self.try_it("bob") for _ in range(5)]
        self.assertEqual(answers, ["right"] * 5, self.log())
        for pid in self.workers():
            with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                os.kill(pid, signal.SIGKILL)
        s.eventually(lambda: self.try_it("alice") == "right", "other workers answer")
        self.assertEqual([self.try_it("bob") for _ in range(8)], ["right"] * 5 + ["later"] * 3, self.log())

    def workers(self):
        """Of this Dovecot alone: its children that are auth workers."""
        found = []
        for pid in s.children(self.process.pid):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"auth\0-w" in file.read():
                    found.append(pid)
        self.assertGreater(len(found), 0)
        return found


if __name__ == "__main__":
    unittest.main()
