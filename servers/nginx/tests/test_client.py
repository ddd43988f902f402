#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""$rl_client: one client is one key, in http and in stream, whatever addresses it takes of its network."""
import socket
import threading

from harness import PATIENCE, Case, main, rlctl

TRUST = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;"


def http(limits="rl_limit r;", outer=""):
    return f"rl_rule r 20/h; {outer} server {{ listen 127.0.0.1:%PORT%; root html; {TRUST} {limits} }}"


def stream(limits="rl_limit r;", outer=""):
    return (f"rl_rule r 20/h; {outer} server {{ listen 127.0.0.1:%STREAM_PORT% proxy_protocol; "
            f"set_real_ip_from 127.0.0.1; {limits} return $rl_client; }}")


def keys(n, rule="r"):
    return sorted(e["key"] for e in rlctl(n.segment, "list", json_out=True)["keys"] if e["rule"] == rule)


def connect(n, client):
    """What a connection in the name of `client` is told: empty, if it is refused."""
    family = "TCP6" if ":" in client else "TCP4"
    with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
        s.sendall(f"PROXY {family} {client} {'::1' if family == 'TCP6' else '127.0.0.1'} 4000 80\r\n".encode())
        text = b""
        try:
            while more := s.recv(100):
                text += more
        except ConnectionResetError:
            pass
        return text.decode()


class Client(Case):
    def ask(self, n, *clients):
        return [n.get("/a", X_Forwarded_For=c).status for c in clients]

    def test_a_thousand_addresses_of_a_network_are_one_client(self):
        n = self.nginx(http(), workers=4)
        admitted = []

        def run(first):
            c = n.connect()
            admitted.extend(i for i in range(first, 1000, 8)
                            if n.get("/a", c, X_Forwarded_For=f"2001:db8:0:7::{i:x}").status == 200)
            c.close()
        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(admitted), 20)
        self.assertEqual(keys(n), ["2001:db8:0:7::"])
        self.assertIn("20", rlctl(n.segment, "get", "r", "2001:db8:0:7::").stdout)

    def test_connections_are_counted_as_requests_are(self):
        n = self.nginx("", stream=stream(), workers=4)
        told = [connect(n, f"2001:db8:0:7:{i:x}::1") for i in range(1000)]
        self.assertEqual((told.count("2001:db8:0:7::"), told.count("")), (20, 980))
        self.assertEqual(keys(n), ["2001:db8:0:7::"])

    def test_the_client_that_a_location_finds(self):
        n = self.nginx("rl_rule r 1/h; rl_limit_req_zone $remote_addr zone=z:1m rate=1r/h; server { listen 127.0.0.1:%PORT%; root %ROOT%/html; "
                       f"location = /a {{ {TRUST} rl_limit r; }} location = /b {{ {TRUST} rl_limit_req zone=z; }} }}")
        for path, denied in (("/a", 429), ("/b", 503)):
            answers = [n.get(path, X_Forwarded_For=c).status for c in ("192.0.2.1", "192.0.2.2", "192.0.2.1")]
            self.assertEqual(answers, [200, 200, denied])

    def test_ipv4_is_counted_whole_and_a_mapped_address_is_ipv4(self):
        n = self.nginx(http())
        self.assertEqual(self.ask(n, "192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"), [200] * 3)
        self.assertEqual(keys(n), ["192.0.2.1", "192.0.2.2"])
        n = self.nginx("", stream=stream())
        self.assertEqual([connect(n, c) for c in ("192.0.2.1", "::ffff:192.0.2.1")], ["192.0.2.1"] * 2)

    def test_another_prefix(self):
        n = self.nginx(http(outer="rl_client_v6 56;"))
        self.assertEqual(self.ask(n, "2001:db8:0:701::1", "2001:db8:0:7ff::2", "2001:db8:0:800::2"), [200] * 3)
        self.assertEqual(keys(n), ["2001:db8:0:700::", "2001:db8:0:800::"])
        n = self.nginx(http(outer="rl_client_v6 128;"))
        self.assertEqual(self.ask(n, "2001:db8:0:7::1", "2001:db8:0:7::2"), [200] * 2)
        self.assertEqual(keys(n), ["2001:db8:0:7::1", "2001:db8:0:7::2"])
        n = self.nginx("", stream=stream(outer="rl_client_v6 48;"))
        self.assertEqual(connect(n, "2001:db8:0:7::1"), "2001:db8::")

    def test_in_keys_of_ones_own_and_in_maps(self):
        n = self.nginx(http("rl_limit r key=$who; add_header X-Who $rl_client always;",
                            "map $http_x_key $who { '' $rl_client; default customer:$http_x_key; }"))
        answer = n.get("/a", X_Forwarded_For="2001:db8:0:7::99")
        self.assertEqual(answer["X-Who"], "2001:db8:0:7::")
        n.get("/a", X_Forwarded_For="2001:db8:0:7::99", X_Key="7")
        self.assertEqual(keys(n), ["2001:db8:0:7::", "customer:7"])

    def test_words_of_limit_req_stay_as_they_are(self):
        n = self.nginx("rl_limit_req_zone $remote_addr zone=r:1m rate=1r/h;" +
                       f"server {{ listen 127.0.0.1:%PORT%; root html; {TRUST} rl_limit_req zone=r; }}")
        self.assertEqual(self.ask(n, "2001:db8:0:7::1", "2001:db8:0:7::2"), [200] * 2)

    def test_bans_of_a_network_and_of_the_key(self):
        n = self.nginx(http())
        rlctl(n.segment, "ban", "2001:db8:0:7::/64", "--for", "1h")
        rlctl(n.segment, "ban", "192.0.2.1", "--for", "1h")
        self.assertEqual(self.ask(n, "2001:db8:0:7::1", "2001:db8:0:8::1", "192.0.2.1"), [429, 200, 429])

    def test_what_is_refused(self):
        for bits in ("0", "129", "x", "-1"):
            self.refuses(http(outer=f"rl_client_v6 {bits};"), "is not between 1 and 128")
        self.refuses(http(outer="rl_client_v6 64; rl_client_v6 64;"), "is duplicate")
        self.refuses(http("rl_limit r; rl_limit r key=$rl_client;"), "stands in this place already")


if __name__ == "__main__":
    main()
