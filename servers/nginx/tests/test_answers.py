#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""count_if, refund_if and rl_settle: what counts is known with the answer, and until then it is the charge that counts."""
import http.server
import os
import signal
import socket
import threading

from harness import PATIENCE, Case, Pending, eventually, main, open_request, used

FAILED = "map $status $failed { volatile; default 0; ~^40[13]$ 1; } map $status $good { volatile; default ''; ~^2 1; }"


class Login:
    """An application: who says the password is let in. While it is shut, it answers nobody."""

    def __init__(self):
        login = self

        class Handler(http.server.BaseHTTPRequestHandler):
            wbufsize = -1
            def do_GET(self):
                with login.lock:
                    login.asked += 1
                login.is_open.wait(PATIENCE)
                status = int(self.headers.get("X-Status") or (200 if self.headers.get("X-Password") else 401))
                self.send_response(status)
                if status == 302:
                    self.send_header("X-Accel-Redirect", "/inside")
                if cost := self.headers.get("X-Cost"):
                    self.send_header("X-Usage", cost)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.lock, self.asked, self.is_open = threading.Lock(), 0, threading.Event()
        self.is_open.set()
        http.server.ThreadingHTTPServer.request_queue_size = 256
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_asked(self, count):
        eventually(lambda: self.asked >= count, f"{count} requests; there are {self.asked}")

    def stop(self):
        self.is_open.set()
        self.server.shutdown()
        self.server.server_close()


class Answers(Case):
    def serve(self, limit, more="", rule="5/d", workers=1, **others):
        self.login = Login()
        self.servers.append(self.login)
        http = (f"{FAILED} rl_rule login {rule}; server {{ listen 127.0.0.1:%PORT%; root html; "
                f"location /login {{ rl_limit login key=$arg_k {limit}; proxy_pass http://127.0.0.1:{self.login.port}; }} "
                f"location / {{ }} {more} }}")
        return self.nginx(http, workers=workers, **others)

    def settled(self, n, key, count):
        """A request is logged after its answer was sent."""
        eventually(lambda: max(used(n.segment, "login", key), default=0) == count, f"{count} of {key}")

    def test_of_many_wrong_guesses_at_once_no_more_pass_than_the_limit_has(self):
        n = self.serve("count_if=$failed", workers=4)
        self.login.is_open.clear()
        guesses = [Pending(n, "/login?k=x") for _ in range(50)]
        self.login.wait_asked(5)
        eventually(lambda: sum(g.response is not None for g in guesses) == 45, "45 denials")
        self.login.is_open.set()
        statuses = [g.wait().status for g in guesses]
        self.assertEqual((statuses.count(401), statuses.count(429), self.login.asked), (5, 45, 5))
        self.settled(n, "x", 5)
        self.assertEqual(n.get("/login?k=x", X_Password="right").status, 429)

    def test_a_thousand_successes_leave_nothing(self):
        n = self.serve("count_if=$failed", workers=4)
        connection = n.connect()
        for _ in range(1000):
            self.assertEqual(n.get("/login?k=x", connection, X_Password="right").status, 200)
        connection.close()
        self.settled(n, "x", 0)
        self.assertEqual(n.statuses("/login?k=x", 6), [401] * 5 + [429])

    def test_refund_if_is_the_other_way_round(self):
        n = self.serve("refund_if=$good")
        self.assertEqual([n.get("/login?k=x", X_Status=s).status for s in ("200", "404", "204", "500")], [200, 404, 204, 500])
        self.settled(n, "x", 2)

    def test_what_a_condition_is(self):
        for text, count in (("0", 0), ("", 0), ("no", 1), ("00", 1), ("1", 1)):
            n = self.serve("count_if=$arg_c")
            n.get(f"/login?k=x&c={text}")
            self.settled(n, "x", count)

    def test_each_limit_counts_for_itself_and_costs_are_given_back_whole(self):
        n = self.serve("cost=3 count_if=$failed; rl_limit all key=all; rl_limit held key=h", more="", rule="9/d; rl_rule all 9/d; rl_rule held in_flight=3")
        n.get("/login?k=x", X_Password="right")
        self.settled(n, "x", 0)
        n.get("/login?k=x")
        self.settled(n, "x", 3)
        self.assertEqual(used(n.segment, "all", "all"), [2])
        eventually(lambda: used(n.segment, "held", "h") == [], "the end of what is held")

    def test_buckets_logs_and_several_limits_of_a_rule(self):
        for rule in ("5/d algorithm=token_bucket", "5/d algorithm=leaky_bucket burst=9 undelayed=9", "5/d algorithm=sliding_log", "5/d 7/d in_flight=3"):
            n = self.serve("count_if=$failed", rule=rule)
            for _ in range(9):
                self.assertEqual(n.get("/login?k=x", X_Password="right").status, 200, rule)
                self.settled(n, "x", 0)

    def test_a_client_that_goes_away(self):
        """It has no answer: what counts failures does not count it, what gives back successes does."""
        for limit, count in (("count_if=$failed", 0), ("refund_if=$good", 1)):
            n = self.serve(limit)
            self.login.is_open.clear()
            with open_request(n, "/login?k=x"):
                self.login.wait_asked(1)
            eventually(lambda: any(" 499 " in line for line in n.access()))
            self.settled(n, "x", count)

    def test_a_worker_that_is_killed_leaves_what_was_charged(self):
        n = self.serve("count_if=$failed", workers=2)
        n.may_complain = True
        self.login.is_open.clear()
        pending = [Pending(n, "/login?k=x", X_Password="right") for _ in range(3)]
        self.login.wait_asked(3)
        for pid in n.worker_pids():
            os.kill(pid, signal.SIGKILL)
        self.login.is_open.set()
        for p in pending:
            p.wait()
        self.assertEqual(used(n.segment, "login", "x"), [3])

    def test_redirects_subrequests_and_error_pages_are_one_request(self):
        n = self.serve("count_if=$failed", "location = /inside { internal; return 403; } "
                       "location = /page { auth_request /who; try_files /a =404; } "
                       "location = /who { internal; rl_limit login key=z count_if=$failed; proxy_pass http://127.0.0.1:%PORT2%; } "
                       "location = /ask { error_page 401 =200 /b; proxy_intercept_errors on; rl_limit login key=y count_if=$failed; "
                       "proxy_pass http://127.0.0.1:%PORT2%; }")
        n.http = n.http.replace("%PORT2%", str(self.login.port))
        n.reload()
        self.assertEqual(n.get("/login?k=x", X_Status="302").status, 403)
        self.settled(n, "x", 1)
        self.assertEqual(n.get("/ask").status, 200)
        self.settled(n, "y", 0)
        self.assertEqual(n.get("/page").status, 401)
        self.assertEqual(n.get("/page", X_Password="right").status, 200)
        self.settled(n, "z", 1)

    def test_upstream_tries_are_one_request(self):
        dead = socket.socket()
        dead.bind(("127.0.0.1", 0))
        n = self.serve("count_if=$failed")
        n.http = (f"upstream all {{ server 127.0.0.1:{dead.getsockname()[1]}; server 127.0.0.1:{self.login.port}; }} " +
                  n.http.replace(f"http://127.0.0.1:{self.login.port}", "http://all"))
        n.reload()
        self.assertEqual([n.get("/login?k=x").status for _ in range(2)], [401] * 2)
        self.settled(n, "x", 2)
        dead.close()

    def test_a_dry_run_counts_by_the_answer_too(self):
        n = self.serve("count_if=$failed; rl_dry_run on")
        n.get("/login?k=x", X_Password="right")
        n.get("/login?k=x")
        self.settled(n, "x", 1)

    def test_over_a_reload_that_takes_the_limit_away(self):
        n = self.serve("count_if=$failed")
        self.login.is_open.clear()
        pending = Pending(n, "/login?k=x", X_Password="right")
        self.login.wait_asked(1)
        n.http = n.http.replace("rl_limit login", "#")
        n.http = n.http.replace("#", "rl_limit other") + "rl_rule other 5/d;"
        n.write()
        os.kill(n.pid(), signal.SIGHUP)
        eventually(lambda: n.log_count("gracefully shutting down") > 0)
        self.login.is_open.set()
        self.assertEqual(pending.wait().status, 200)
        self.settled(n, "x", 0)

    def test_connections(self):
        login = Login()
        self.servers.append(login)
        n = self.nginx("", stream="map $status $failed { volatile; default 0; 502 1; } rl_rule login 2/d; "
                                  "server { listen 127.0.0.1:%STREAM_PORT%; rl_limit login key=x count_if=$failed; "
                                  f"proxy_pass 127.0.0.1:{login.port}; }}")
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
                s.sendall(b"GET / HTTP/1.0\r\nX-Password: right\r\n\r\n")
                self.assertIn(b"200", s.recv(100))
            self.settled(n, "x", 0)
        login.stop()
        self.servers.remove(login)
        for count in (1, 2, 2):
            with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
                self.assertEqual(s.recv(100), b"")
            self.settled(n, "x", count)

    def spend(self, **others):
        return self.serve("cost=10; rl_settle login cost=$upstream_http_x_usage", rule="100/d", **others)

    def test_what_it_has_cost_takes_the_place_of_the_charge(self):
        n = self.spend(workers=4)
        costs = [0, 3, 10, 25, 1] * 4
        for cost in costs[:8]:
            self.assertEqual(n.get("/login?k=x", X_Cost=str(cost)).status, 401)
        self.settled(n, "x", sum(costs[:8]))
        self.assertEqual(n.get("/login?k=x", X_Cost="500").status, 401)  # a debt
        self.settled(n, "x", sum(costs[:8]) + 500)
        self.assertEqual(n.get("/login?k=x").status, 429)

    def test_a_cost_that_is_not_known_leaves_the_charge(self):
        n = self.spend()
        for cost in ("", "none", "-5", "1.5"):
            n.get("/login?k=x", X_Cost=cost)
        self.settled(n, "x", 40)
        self.assertEqual(n.log_count("what a request has cost is no number"), 1)

    def test_an_estimate_of_none_is_a_look(self):
        n = self.serve("cost=0; rl_settle login cost=$upstream_http_x_usage", rule="2/d")
        self.assertEqual([n.get("/login?k=x", X_Cost="5").status for _ in range(3)], [401] * 3)
        self.assertEqual(used(n.segment, "login", "x"), [])

    def test_a_client_that_goes_away_has_cost_what_is_known(self):
        n = self.serve("cost=10; rl_settle login cost=$bytes_sent", rule="100000/d")
        self.login.is_open.clear()
        with open_request(n, "/login?k=x"):
            self.login.wait_asked(1)
            self.assertEqual(used(n.segment, "login", "x"), [10])
        eventually(lambda: any(" 499 " in line for line in n.access()))
        self.settled(n, "x", 0)
        self.login.is_open.set()
        answer = n.get("/login?k=x")
        eventually(lambda: used(n.segment, "login", "x")[0] > 10, "the bytes of an answer")
        self.assertEqual(answer.status, 401)

    def test_a_client_that_goes_away_in_the_middle_has_cost_what_was_sent(self):
        n = self.serve("cost=10", rule="200000000/d")
        n.http = "log_format spent '$bytes_sent'; " + n.http.replace(
            "location / {", "location /big { rl_limit login key=big cost=10; rl_settle login cost=$bytes_sent; access_log logs/spent spent; } location / {")
        with open(f"{n.root}/html/big", "wb") as file:
            file.write(b"." * (64 << 20))
        n.reload()
        with open_request(n, "/big") as client:
            client.recv(4096)
            self.assertEqual(used(n.segment, "login", "big"), [10])
        eventually(lambda: n.read("spent") != "", "a line of the log")
        sent = int(n.read("spent"))
        self.settled(n, "big", sent)
        self.assertTrue(4096 <= sent < 64 << 20, sent)

    def test_a_worker_that_is_killed_leaves_its_estimate(self):
        n = self.spend(workers=2)
        n.may_complain = True
        n.get("/login?k=x", X_Cost="3")
        self.settled(n, "x", 3)
        self.login.is_open.clear()
        pending = [Pending(n, "/login?k=x", X_Cost="7") for _ in range(3)]
        self.login.wait_asked(4)
        old = n.worker_pids()
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        self.login.is_open.set()
        for p in pending:
            p.wait()
        eventually(lambda: len(n.worker_pids()) == 2 and not set(old) & set(n.worker_pids()), "other workers")
        self.assertEqual(used(n.segment, "login", "x"), [3 + 3 * 10])
        n.get("/login?k=x", X_Cost="25")
        self.settled(n, "x", 33 + 25)

    def test_an_answer_that_does_not_count_costs_nothing(self):
        n = self.serve("cost=10 count_if=$failed; rl_settle login cost=$upstream_http_x_usage", rule="100/d")
        n.get("/login?k=x", X_Password="right", X_Cost="7")
        n.get("/login?k=x", X_Cost="7")
        self.settled(n, "x", 7)

    def test_settled_by_the_rule_and_inherited(self):
        n = self.serve("cost=10; rl_limit all key=all; rl_limit slots key=s", rule="100/d; rl_rule all 100/d; rl_rule slots in_flight=2")
        n.http = n.http.replace("location /login {", "rl_settle login cost=$upstream_http_x_usage; rl_settle slots cost=9; location /login {")
        n.reload()
        for _ in range(3):
            n.get("/login?k=x", X_Cost="4")
        self.settled(n, "x", 12)
        eventually(lambda: (used(n.segment, "all", "all"), used(n.segment, "slots", "s")) == ([3], []), "the end of what is held")

    def test_bytes_of_connections(self):
        login = Login()
        self.servers.append(login)
        n = self.nginx("", stream="rl_rule login 1000/d; server { listen 127.0.0.1:%STREAM_PORT%; rl_limit login key=x cost=100; "
                                  f"rl_settle login cost=$bytes_received; proxy_pass 127.0.0.1:{login.port}; }}", workers=2)
        n.may_complain = True
        asked = b"GET / HTTP/1.0\r\nX-Password: right\r\n\r\n"
        with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
            s.sendall(asked)
            self.assertIn(b"200", s.recv(100))
        self.settled(n, "x", len(asked))
        login.is_open.clear()
        with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
            s.sendall(asked[:10])
            eventually(lambda: used(n.segment, "login", "x") == [len(asked) + 100], "one that goes on")
        self.settled(n, "x", len(asked) + 10)  # its client has gone
        with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
            s.sendall(asked)
            login.wait_asked(2)
            old = n.worker_pids()
            for pid in old:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: len(n.worker_pids()) == 2 and not set(old) & set(n.worker_pids()), "other workers")
        self.assertEqual(used(n.segment, "login", "x"), [len(asked) + 10 + 100])

    def test_what_is_refused(self):
        self.refuses("rl_rule r 5/s; server { listen 127.0.0.1:%PORT%; rl_settle nosuch cost=1; }", "there is no rule or zone")
        self.refuses("rl_rule r 5/s; server { listen 127.0.0.1:%PORT%; rl_limit r; rl_settle r 5; }", 'invalid parameter "5"')
        self.refuses("rl_rule r 5/s; server { listen 127.0.0.1:%PORT%; rl_limit r count_if=1 refund_if=1; }",
                     "has both count_if and refund_if")
        self.refuses("rl_rule r 5/s; server { listen 127.0.0.1:%PORT%; rl_limit r count_if=$nosuch; }", "nosuch")


if __name__ == "__main__":
    main()
