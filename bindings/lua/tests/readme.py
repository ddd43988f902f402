#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What README.md shows is so: each block is run as it stands, but for names of segments, ports and paths."""
import os
import re
import subprocess
import unittest

import support as s

s.need("haproxy", "nginx", "lua5.4")
s.need_root()
README = os.path.join(s.TOP, "bindings/lua/README.md")
with open(README, encoding="utf-8") as readme:
    TEXT = readme.read()
MODULES = "/usr/lib/nginx/modules"


def block(language, number=0):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)[number]


class Readme(unittest.TestCase):
    def lua(self, text):
        done = subprocess.run(["lua5.4", s.write("readme.lua", text)], capture_output=True, text=True,
                              timeout=s.PATIENCE, check=False,
                              env=s.environment(LUA_CPATH=f"{s.BUILD}/5.4/?.so", LUA_PATH=f"{s.SHARE}/?.lua"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_first_block(self):
        name = s.segment("web")
        lines = self.lua(block("lua").replace('"web"', f'"{name}"'))
        self.assertEqual(lines[:5], ["yes"] * 5)
        self.assertEqual([line[:7] for line in lines[5:]], ["no, for"] * 2)
        self.assertIn("5", s.rlctl("--segment", name, "get", "login", "alice"))

    def test_calls(self):
        self.assertEqual(self.lua(block("lua", 1).replace('"jobs"', f'"{s.segment("jobs")}"')), ["allowed\t97"])

    def test_every_call_is_there(self):
        source = "".join(open(os.path.join(s.TOP, "bindings/lua/src", name), encoding="utf-8").read()
                         for name in os.listdir(os.path.join(s.TOP, "bindings/lua/src")))
        hidden = {"cell", "handle", "error_name", "rate", "digest", "name", "is_open", "now"}
        for method in set(re.findall(r'\{"([a-z_]+)", [a-z]', source)) - hidden:
            if method.startswith("__") or re.search(r'"%s", RL_OPEN' % method, source):
                continue
            self.assertRegex(TEXT, r"\b%s\b" % method)

    def test_files_are_there(self):
        for path in re.findall(r"`((?:tests|examples)/[\w./]+)`|\]\(((?!http)[^)]+)\)", TEXT):
            path = path[0] or path[1]
            self.assertTrue(os.path.exists(os.path.join(s.TOP, "bindings/lua", path)), path)

    def test_what_is_installed_finds_what_it_asks_for(self):
        to = os.path.join(s.work, "installed")
        subprocess.run(["make", "-s", "-C", s.TOP, "install-lua", f"DESTDIR={to}", "PREFIX=/usr"], check=True, capture_output=True)
        asked = 0
        for version in ("5.1", "5.3", "5.4"):
            share = os.path.join(to, "usr/share/lua", version)
            for path in (os.path.join(at, name) for at, _, names in os.walk(share) for name in names):
                with open(path, encoding="utf-8") as file:
                    for name in re.findall(r'require\(?\s*"(rl\.[\w.]+)"', file.read()):
                        asked += 1
                        self.assertTrue(os.path.exists(os.path.join(share, name.replace(".", "/") + ".lua")), f"{path}: {name}")
        self.assertGreater(asked, 10)

    def test_nginx(self):
        port = s.free_port()
        http = block("nginx").replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace('"nginx"', f'"{s.segment("n")}"')
        config = s.write("nginx.conf", f"""
load_module {MODULES}/ndk_http_module.so;
load_module {MODULES}/ngx_http_lua_module.so;
daemon off; worker_processes 2; pid {s.work}/pid; error_log {s.work}/error.log warn; events {{}}
http {{ access_log off; lua_package_path "{s.SHARE}/?.lua;;"; lua_package_cpath "{s.BUILD}/5.1/?.so;;"; {http} }}
""")
        process = s.start(["nginx", "-p", s.work, "-c", config, "-e", f"{s.work}/error.log"])
        s.eventually(lambda: s.is_listening(port), "nginx listens")
        self.assertEqual(s.count_status(port, "/", 60, 4), 50)
        self.assertIn("Retry-After", s.get(port)[1])
        for password, status in [("right", 200)] * 9 + [("wrong", 401)] * 5 + [("right", 429)]:
            self.assertEqual(s.get(port, f"/login?password={password}")[0], status)
        s.end(process)

    def test_haproxy(self):
        port = s.free_port()
        os.makedirs(f"{s.work}/empty", exist_ok=True)
        lua = s.write("rl.lua", block("lua", 2).replace('"web"', f'"{s.segment("h")}"'))
        text = block("haproxy").replace("127.0.0.1:8081", f"127.0.0.1:{port}").replace("/etc/haproxy/rl.lua", lua)
        text = text.replace("/var/lib/haproxy", f"{s.work}/empty").replace("user haproxy", "user nobody").replace(
            "group haproxy", "group nogroup").replace("global\n", f"global\n    lua-prepend-path {s.SHARE}/?.lua\n"
                                                      f"    lua-prepend-path {s.BUILD}/{s.lua_of_haproxy()}/?.so cpath\n")
        process = s.start(["haproxy", "-db", "-f", s.write("haproxy.cfg", text)])
        s.eventually(lambda: s.is_listening(port), "HAProxy listens")
        self.assertEqual(s.count_status(port, "/", 120, 8), 100)
        self.assertEqual(s.get(port)[0], 429)
        s.end(process)


if __name__ == "__main__":
    unittest.main()
