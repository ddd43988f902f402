#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README.md is so: its settings are taken, its SQL gives what stands behind `-- =>`, each call and setting is in its tables."""
import os
import re
import subprocess
import unittest

import support as s

with open(os.path.join(s.HERE, "../README.md"), encoding="utf-8") as file:
    TEXT = file.read()


def blocks(*languages):
    return re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```$", TEXT, re.M | re.S)


class Readme(unittest.TestCase):
    def test_page(self):
        segment = f"postgresql-readme-{os.getpid()}"
        settings = [line for _, text in blocks("conf") for line in text.splitlines()]
        pg = s.Postgres(segment, settings)
        self.addCleanup(pg.remove)
        pg.start()
        checked = 0
        for language, text in blocks("sql", "sh"):
            if language == "sh":
                text = text.replace("--segment postgresql", f"--segment {segment}")
                path = os.path.dirname(s.RLCTL) + ":" + os.environ["PATH"]
                subprocess.run(["sh", "-ec", text], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path})
                continue
            want = re.findall(r"-- => (.*)$", text, re.M)
            got = [line for line in pg.value(text).splitlines() if line]
            self.assertEqual(got[:len(want)], want, text)
            checked += len(want)
        self.assertGreaterEqual(checked, 8)
        self.assertEqual(pg.value("SHOW rl.auth_rule"), "login")
        for name in pg.value("SELECT name FROM pg_settings WHERE name LIKE 'rl.%' UNION SELECT proname FROM pg_proc"
                             " WHERE proname LIKE 'rl\\_%'").splitlines():
            self.assertIn(f"`{name}", TEXT, name)
        for name in re.findall(r"`(tests/[\w.]+)`", TEXT):
            self.assertTrue(os.path.exists(os.path.join(s.HERE, "..", name)), name)


if __name__ == "__main__":
    unittest.main()
