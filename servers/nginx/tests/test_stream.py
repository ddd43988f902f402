#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The module for stream: limit_conn's words, rules on connections, delays; beside http on one segment."""
import contextlib
import os
import re
import signal
import socket
import time
import unittest

from harness import PATIENCE, STREAM_MODULE, Case, configure, counter, eventually, main, rlctl, used

ZONE = "rl_limit_conn_zone $remote_addr zone=one:1m;"


def server(limits, port="%STREAM_PORT%", what="return ok;"):
    return f"server {{ listen 127.0.0.1:{port}; {limits} {what} }}"


class Stream(Case):
    def stream(self, text, **others):
        return self.nginx("", stream=text, **others)

    def open(self, n, port=None):
        return socket.create_connection(("127.0.0.1", port or n.stream_port), PATIENCE)

    def ask(self, n, port=None):
        """What a connection is told until its end: empty, if it is refused."""
        with self.open(n, port) as s:
            text = b""
            try:
                while more := s.recv(4096):
                    text += more
            except ConnectionResetError:
                pass
            return text.decode()

    def held(self, n, origin, port=None):
        s = self.open(n, port)
        before = origin.held
        s.sendall(b"GET /hold HTTP/1.0\r\n\r\n")
        origin.wait_held(before + 1)
        return s

    def proxied(self, limits, zone=ZONE, **others):
        self.origin = self.backend()
        return self.stream(zone + server(limits, what=f"proxy_pass 127.0.0.1:{self.origin.port};"), **others)

    def is_refused(self, n, port=None):
        with self.open(n, port) as s:
            try:
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return s.recv(100) == b""
            except (ConnectionResetError, BrokenPipeError):
                return True


class Conn(Stream):
    def test_so_many_at_once_and_another_when_one_has_ended(self):
        n = self.proxied("rl_limit_conn one 2;")
        held = [self.held(n, self.origin) for _ in range(2)]
        self.assertEqual([self.is_refused(n) for _ in range(2)], [True, True])
        self.assertRegex(n.log(), r'\[error\].*limiting connections by zone "one"')
        self.origin.release(2)
        for s in held:
            self.assertIn(b"ok", s.recv(4096))
            s.close()
        eventually(lambda: not self.is_refused(n))
        eventually(lambda: used(n.segment, "one", "127.0.0.1") == [])

    def test_several_and_inherited(self):
        zone = ZONE + 'rl_limit_conn_zone "$server_port" zone=port:1m; rl_limit_conn one 3; rl_limit_conn_log_level info;'
        n = self.proxied("rl_limit_conn one 3; rl_limit_conn port 1;", zone=zone)
        held = self.held(n, self.origin)
        self.assertTrue(self.is_refused(n))
        self.assertRegex(n.log(), r'\[info\].*limiting connections by zone "port"')
        self.origin.release()
        held.close()

    def test_servers_share_a_zone_each_by_its_own_number(self):
        self.origin = self.backend()
        proxy = f"proxy_pass 127.0.0.1:{self.origin.port};"
        n = self.stream(ZONE + "rl_limit_conn_zone $remote_addr zone=two:1m;" + server("rl_limit_conn one 1;", what=proxy) +
                        server("rl_limit_conn one 5;", "%PORT%", proxy) + server("rl_limit_conn two 1;", "%PORT2%", proxy))
        held = self.held(n, self.origin)
        self.assertEqual([self.is_refused(n, p) for p in (n.stream_port, n.port, n.port2)], [True, False, False])
        self.origin.release()
        held.close()

    def test_a_chain_of_servers_holds_one_in_each(self):
        origin = self.backend()
        n = self.stream(ZONE + "rl_limit_conn_zone $remote_addr zone=two:1m;" +
                        server("rl_limit_conn one 1;", what=f"proxy_pass 127.0.0.1:{origin.port};") +
                        server("rl_limit_conn one 1;", "%PORT%", "proxy_pass 127.0.0.1:%STREAM_PORT%;") +
                        server("rl_limit_conn two 1;", "%PORT2%", "proxy_pass 127.0.0.1:%STREAM_PORT%;"))
        self.assertEqual([self.is_refused(n, p) for p in (n.port2, n.port)], [False, True])

    def test_dry_run_and_the_variable(self):
        n = self.proxied("rl_limit_conn one 1; rl_limit_conn_dry_run on; access_log logs/s.log s;",
                         zone=ZONE + "log_format s '$rl_limit_conn_status';")
        first = self.held(n, self.origin)
        second = self.held(n, self.origin)
        self.assertIn('limiting connections, dry run, by zone "one"', n.log())
        self.origin.release(2)
        first.close(), second.close()
        eventually(lambda: sorted(n.read("s.log").split()) == ["PASSED", "REJECTED_DRY_RUN"])

    def test_an_empty_key_is_not_limited(self):
        n = self.stream("map $remote_addr $none { default ''; } rl_limit_conn_zone $none zone=one:1m;" +
                        server("rl_limit_conn one 1;"))
        self.assertEqual([self.ask(n) for _ in range(3)], ["ok"] * 3)

    def test_a_client_that_goes_away_and_kill_9(self):
        n = self.proxied("rl_limit_conn one 1; proxy_timeout 60s;", workers=2)
        n.may_complain = True
        held = self.held(n, self.origin)
        self.assertTrue(self.is_refused(n))
        for worker in n.worker_pids():
            with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                os.kill(worker, signal.SIGKILL)
        eventually(lambda: len(n.worker_pids()) == 2)
        eventually(lambda: not self.is_refused(n))
        held.close()

    def test_configuration(self):
        for bad, said in (("rl_limit_conn two 1;", '"two": there is no rule or zone'), ("rl_limit_conn one 0;", "invalid number"),
                          ("rl_limit_conn one 65536;", "must be less 65536"), ("rl_limit_conn one 1; rl_limit_conn one 1;", "is duplicate"),
                          ("rl_limit_conn_log_level loud;", 'invalid value "loud"'), ("rl_limit_req zone=one;", "is not allowed here"),
                          ("rl_limit r burst=2;", "burst: 2; sliding_window has none"), ("rl_limit r; rl_limit r;", "in this place already"),
                          ("rl_on_error 503;", 'must be "allow" or "deny"')):
            self.refuses("", said, stream=ZONE + "rl_rule r 5/s;" + server(bad, port="1"))


class Rules(Stream):
    def test_a_rate_of_connections_exactly_with_8_workers(self):
        n = self.stream("rl_rule r 20/30d algorithm=fixed_window;" + server("rl_limit r;"), workers=8)
        told = [self.ask(n) for _ in range(40)]
        self.assertEqual((told[:20], set(told[20:])), (["ok"] * 20, {""}))
        self.assertIn('by rule "r"', n.log())

    def test_a_delay(self):
        n = self.stream("rl_rule r 60/min algorithm=leaky_bucket burst=2; log_format s '$rl_status $rl_delay';" +
                        server("rl_limit r; access_log logs/s.log s;"))
        for sessions in range(2, 22, 2):
            self.ask(n)
            began = time.monotonic()
            self.assertEqual(self.ask(n), "ok")
            took = time.monotonic() - began
            eventually(lambda: n.read("s.log").count("\n") == sessions, "a line for each session")
            last = n.read("s.log").splitlines()[-1]
            if last.startswith("DELAYED"):
                self.assertGreaterEqual(took + 0.01, float(last.split()[1]))
                return
        self.fail("no connection was delayed")

    def test_who_goes_away_while_delayed(self):
        n = self.stream("rl_rule r 1/h algorithm=leaky_bucket burst=3; rl_rule d in_flight=9;" +
                        server("rl_limit r; rl_limit d;"))
        self.assertEqual(self.ask(n), "ok")
        waiting = self.open(n)
        eventually(lambda: used(n.segment, "d", "127.0.0.1") == [1])
        eventually(lambda: re.search(r"delaying request, by (3600|35\d\d)\.", n.log()), "the log")
        waiting.close()
        eventually(lambda: used(n.segment, "d", "127.0.0.1") == [])

    def test_data_does_not_end_a_delay(self):
        n = self.stream("rl_rule r 1/h algorithm=leaky_bucket burst=3;" + server("rl_limit r;"))
        self.assertEqual(self.ask(n), "ok")
        waiting = self.open(n)
        eventually(lambda: "delaying request" in n.log())
        waiting.sendall(b"data")
        waiting.settimeout(0.5)
        self.assertRaises(TimeoutError, waiting.recv, 1)
        waiting.close()

    def test_reload_and_configured_and_variables(self):
        n = self.stream("rl_rule r configured; log_format s '$rl_status $rl_rule $rl_remaining $rl_limit';" +
                        server("rl_limit r key=k; rl_on_error deny; access_log logs/s.log s;"))
        self.assertEqual(self.ask(n), "")
        configure(n.segment, {"r": {"limit": "3/h"}}, n.root)
        eventually(lambda: self.ask(n) != "")
        self.ask(n)
        n.reload()
        self.assertEqual([self.ask(n) for _ in range(2)], ["ok", ""])
        eventually(lambda: n.read("s.log").splitlines()[-4:] ==
                   ["PASSED r 2 3", "PASSED r 1 3", "PASSED r 0 3", "REJECTED r 0 3"])

    def test_http_and_stream_count_together(self):
        n = self.nginx("rl_rule r 4/h; server { listen 127.0.0.1:%PORT%; root %ROOT%/html; rl_limit r; }",
                       stream="rl_rule r 4/h;" + server("rl_limit r;"))
        self.assertEqual(n.statuses("/a", 2), [200, 200])
        self.assertEqual([self.ask(n) for _ in range(3)], ["ok"] * 2 + [""])
        self.assertEqual(n.get("/a").status, 429)

    def test_nginx_t_and_a_ban(self):
        n = self.stream("rl_rule r 4/h;" + server("rl_limit r;"))
        self.assertEqual(n.test()[0], 0)
        rlctl(n.segment, "ban", "127.0.0.1", "--for", "1h")
        self.assertEqual(self.ask(n), "")
        self.assertEqual(counter(n.segment, "banned"), 1)


if __name__ == "__main__":
    if not os.path.exists(STREAM_MODULE):
        print("without nginx's module for stream")
        raise SystemExit(77)
    main()
