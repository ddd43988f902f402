#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl-nft in a network of its own: who is dropped, until when, and who never."""
import ipaddress
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import support as s

s.make_network()
clients = s.Clients()


STATE = r"(timeout|expires|packets) [^ ,}]*|bytes \d+"


class Case(unittest.TestCase):
    bans = 1000

    def setUp(self):
        s.within(s.HOST, "nft", "flush ruleset")
        self.segment = s.make_segment(self.bans)

    def mirror(self, *arguments, **options):
        process = s.mirror(self.segment, *arguments, **options)
        self.addCleanup(s.end, process)
        s.eventually(lambda: process.poll() is not None or "table inet rl" in s.ruleset(), "rl-nft has made its table")
        return process

    def ban(self, *arguments):
        s.rlctl(self.segment, "ban", "--yes", *arguments)

    def ban_for_a_moment(self, pattern, wanted):
        """It is in the set, which has `wanted` then."""
        for seconds in (3, 8, 16, 32):
            until = time.time() + seconds
            self.ban(pattern, "--for", f"{seconds}s")
            self.becomes_before(until, wanted)
            if time.time() < until:
                return
        self.fail("it was over each time before it was seen")

    @staticmethod
    def shim(name, text):
        """A library that is loaded before others."""
        source, built = (os.path.join(s.work, name + end) for end in (".c", ".so"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n" + text)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", built, source], check=True)
        return built

    def becomes(self, wanted, number=4):
        s.eventually(lambda: s.names(number) == wanted, f"set v{number} has {wanted}")

    def becomes_before(self, until, wanted, number=4):
        """Or it is over."""
        s.eventually(lambda: s.names(number) == wanted or time.time() >= until, f"set v{number} has {wanted}")

    def is_dropped_before(self, until, source, **options):
        """Whether that could be seen: what passed may have come later."""
        told = clients.connect(source, **options)
        if time.time() >= until:
            return False
        self.assertEqual(told, "dropped")
        return True


class Bans(Case):
    def test_dropped_until_the_second(self):
        for source in ("10.77.1.1", "fd77::11"):
            s.add_client(source)
            self.assertEqual(clients.connect(source, seconds=5), "passed")
        self.mirror()
        for span in (4, 8, 16, 32):  # a machine that stands still meanwhile tells nothing
            until, dropped = int(time.time()) + span, 0
            self.ban("10.77.1.1", "fd77::11", "--until", f"@{until}")
            self.becomes_before(until, ["10.77.1.1"])
            self.becomes_before(until, ["fd77::11"], 6)
            self.assertEqual(clients.connect("10.77.255.254", seconds=5), "passed")
            # A SYN that is dropped is sent again after a second: so each of these waits for its first alone.
            while time.time() < until - 0.5:
                for source in ("10.77.1.1", "fd77::11"):
                    dropped += self.is_dropped_before(until, source, seconds=0.2)
            time.sleep(max(0.0, until + 0.05 - time.time()))
            for source in ("10.77.1.1", "fd77::11"):
                self.assertEqual(clients.connect(source, seconds=5), "passed")
            if dropped and time.time() - until < 1:
                return
        self.fail("never dropped, or for longer")

    def test_lifted_and_made_longer(self):
        s.add_client("10.77.1.2")
        before = s.log()
        self.mirror()
        self.ban("10.77.1.2", "10.77.1.5", "--for", "4s")
        for _ in range(10):  # the end is put off each time before it comes
            until = time.time() + 4
            self.ban("10.77.1.2", "--for", "4s")
            s.eventually(lambda end=until: "10.77.1.2" in s.names() or time.time() >= end, "it is in the set")
            self.is_dropped_before(until, "10.77.1.2", seconds=0.4)
        self.ban("10.77.1.2", "--for", "1h")
        self.becomes(["10.77.1.2"])
        s.rlctl(self.segment, "unban", "10.77.1.2")
        self.becomes([])
        self.assertEqual(clients.connect("10.77.1.2", seconds=5), "passed")
        self.ban("10.77.1.2", "--until", "never")
        s.eventually(lambda: s.elements() == [("10.77.1.2", None)], "a ban without an end")
        self.assertNotIn("anew", s.log()[len(before):])

    def test_stays_when_it_is_stopped_or_killed(self):
        s.add_client("10.77.1.4")
        for how in (signal.SIGTERM, signal.SIGKILL):
            for span in (3, 8, 16, 32):  # what is over before somebody has looked tells nothing
                process = self.mirror()
                until = int(time.time()) + span
                self.ban("10.77.1.4", "--until", f"@{until}")
                self.becomes_before(until, ["10.77.1.4"])
                self.assertEqual(s.end(process, how), 0 if how == signal.SIGTERM else -how)
                dropped = self.is_dropped_before(until, "10.77.1.4")
                time.sleep(max(0.0, until + 0.05 - time.time()))
                self.assertEqual(clients.connect("10.77.1.4", seconds=5), "passed")
                if dropped:
                    break
            self.assertTrue(dropped)

    def test_others_change_the_table(self):
        self.ban("192.0.2.0/24", "--for", "1h")
        self.mirror()
        whole = re.sub(STATE, "", s.ruleset())
        for command in ("flush ruleset", "flush set inet rl v4", "flush chain inet rl bans", "delete table inet rl",
                        "delete element inet rl v4 { 192.0.2.0/24 }"):
            s.within(s.HOST, "nft", command)
            s.eventually(lambda: re.sub(STATE, "", s.ruleset()) == whole, command)

    def test_others_change_what_is_theirs(self):
        """It costs no counter, also where a ban has ended meanwhile."""
        self.ban("192.0.2.9", "--for", "1h")
        before, process = s.log(), self.mirror()
        self.becomes(["192.0.2.9"])
        s.add_client("192.0.2.9")
        self.assertEqual(clients.connect("192.0.2.9"), "dropped")
        self.ban_for_a_moment("192.0.2.10", ["192.0.2.9", "192.0.2.10"])
        process.send_signal(signal.SIGSTOP)
        self.becomes(["192.0.2.9"])
        s.within(s.HOST, "nft", "add table inet others")
        process.send_signal(signal.SIGCONT)
        self.ban("192.0.2.11", "--for", "1h")
        self.becomes(["192.0.2.9", "192.0.2.11"])
        self.assertNotIn("anew", s.log()[len(before):])
        self.assertRegex(s.ruleset(), r"ip saddr @v4 counter packets [1-9]")

    def test_others_come_between(self):
        """Behind its look at the ruleset, and before its transaction, which the kernel refuses: three times each time."""
        shim = self.shim("between", """#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
ssize_t mnl_socket_sendto(const struct mnl_socket *socket, const void *bytes, size_t size)
{
	ssize_t (*real)(const struct mnl_socket *, const void *, size_t) = dlsym(RTLD_NEXT, "mnl_socket_sendto");
	static int tries;
	if (((const struct nlmsghdr *)bytes)->nlmsg_type == NFNL_MSG_BATCH_BEGIN && tries++ % 4 < 3 &&
	    system("env -u LD_PRELOAD nft 'add table inet others; add chain inet others c; add rule inet others c counter'") != 0)
		abort();
	return real(socket, bytes, size);
}
""")
        self.ban("192.0.2.12", "--for", "1h")
        before, _ = s.log(), self.mirror(wrap=("env", f"LD_PRELOAD={shim}"))
        self.becomes(["192.0.2.12"])
        s.add_client("192.0.2.12")
        self.assertEqual(clients.connect("192.0.2.12"), "dropped")
        self.ban("192.0.2.11", "--for", "1h")
        self.becomes(["192.0.2.11", "192.0.2.12"])
        self.assertEqual(s.within(s.HOST, "nft", "list", "table", "inet", "others").count("counter"), 6)
        self.assertRegex(s.ruleset(), r"ip saddr @v4 counter packets [1-9]")
        self.assertEqual(s.log()[len(before):], "")

    def test_one_transaction_a_second(self):
        """However many bans come at once, and none where there is nothing to say."""
        self.ban(*(f"192.0.2.{i}" for i in range(0, 200, 2)), "--for", "1h")
        path = os.path.join(s.work, "monitor")
        with open(path, "w", encoding="utf-8") as file:
            monitor = subprocess.Popen(["ip", "netns", "exec", s.HOST, "nft", "monitor"], stdout=file)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)

        def transactions():
            """How many elements each of them had that rl-nft has made."""
            with open(path, encoding="utf-8") as seen:
                parts = re.split(r"# new generation \d+ by process \d+ \((.*)\)\n", seen.read())
            return [text.count("add element") for text, program in zip(parts[::2], parts[1::2]) if program == "rl-nft"]

        def listens():
            for what in ("add", "delete"):
                s.within(s.HOST, "nft", f"{what} table inet others")
            return os.path.getsize(path) > 0

        s.eventually(listens, "the monitor listens")
        self.mirror()
        s.eventually(lambda: sum(transactions()) == 100, "all are there")
        self.assertEqual([count for count in transactions() if count], [100])
        before, began = len(transactions()), time.monotonic()
        for i in range(0, 120, 2):
            self.ban(f"10.77.5.{i}", "--for", "1h")
            time.sleep(0.04)
        s.eventually(lambda: sum(transactions()) == 160, "so are these")
        self.assertLessEqual(len(transactions()) - before, time.monotonic() - began + 1)
        after = len(transactions())
        time.sleep(2.2)
        self.assertEqual(len(transactions()), after)

    def test_never_who_is_exempt_or_this_host(self):
        for pattern, number, wanted in (
                ("10.77.0.0/24", 4, ["10.77.0.0", "10.77.0.2-10.77.0.255"]),
                ("fd77::/64", 6, ["fd77::", "fd77::2-fd77::ffff:ffff:ffff:ffff"]),
                ("127.0.0.1", 4, []), ("::1", 6, [])):
            self.ban(pattern, "--for", "1h")
            shown = [re.search(r"{ (\S+)", line).group(1) for line in self.dry().splitlines()]
            self.assertEqual(shown, wanted, pattern)
            s.rlctl(self.segment, "unban", pattern)
        self.ban("192.0.2.0/24", "192.0.2.7", "::ffff:10.77.9.9", "--for", "1h")
        s.rlctl(self.segment, "allow", "192.0.2.0/28", "--rule", "api", "--for", "1h")
        self.mirror()
        self.becomes(["10.77.9.9", "192.0.2.16-192.0.2.255"])
        s.add_client("192.0.2.3")
        s.add_client("192.0.2.17")
        self.assertEqual(clients.connect("192.0.2.3", seconds=5), "passed")
        self.assertEqual(clients.connect("192.0.2.17"), "dropped")
        s.rlctl(self.segment, "unban", "192.0.2.0/28", "--rule", "api")
        self.becomes(["10.77.9.9", "192.0.2.0/24"])
        # An address that the host is given is spared from the next second on.
        s.within(s.HOST, "ip", "addr", "add", "192.0.2.250/32", "dev", "host0")
        self.becomes(["10.77.9.9", "192.0.2.0-192.0.2.249", "192.0.2.251-192.0.2.255"])
        s.within(s.HOST, "ip", "addr", "del", "192.0.2.250/32", "dev", "host0")

    def dry(self, *arguments):
        return s.within(s.HOST, s.NFT, "--segment", self.segment, "--dry-run", *arguments)

    def test_which_bans(self):
        self.ban("10.77.3.1", "--rule", "login", "--for", "1h")
        self.ban("10.77.3.2", "--rule", "api", "--for", "1h")
        self.ban("10.77.3.3", "user:*", "alice", "10.77.4*", "--for", "1h")
        self.ban("0.0.0.0/0", "11.0.0.0/7", "::/0", "12.0.0.0/8", "--for", "1h")
        before = s.ruleset()
        shown = self.dry("--rule", "login")
        self.assertEqual(re.findall(r"v(\d) { (\S+)", shown),
                         [("4", "10.77.3.1"), ("4", "10.77.3.3"), ("4", "12.0.0.0-12.255.255.255")])
        self.assertEqual(s.ruleset(), before)
        self.assertNotIn("10.77.3.1 ", self.dry())
        # What it shows is what nft takes, and it needs no rights.
        made = "add table inet rl; add set inet rl v4 { type ipv4_addr; flags interval, timeout; }\n"
        s.within(s.HOST, "nft", "-c", "-f", "-", text=made + shown)
        before = s.log()
        self.mirror("--sets-only", "--rule", "login", "--rule", "nosuch", "--rule", "neither")
        self.becomes(["10.77.3.1", "10.77.3.3", "12.0.0.0/8"])
        self.assertNotIn("chain", s.ruleset())
        s.rlctl(self.segment, "unban", "10.77.3.3")
        self.becomes(["10.77.3.1", "12.0.0.0/8"])
        self.assertEqual(re.findall(r"has no rule (\w+)|(\d) bans of more than a /8", s.log()[len(before):]),
                         [("nosuch", ""), ("neither", ""), ("", "3")], "each is said once")

    def test_a_client_of_ipv6_is_its_network(self):
        """Its key is the first address of a /64, and with a ban of that goes each of its addresses."""
        for source in ("fd77:0:0:7::1", "fd77:0:0:7:0:0:0:beef", "fd77:0:0:8::1"):
            s.add_client(source)
        self.mirror("--rule", "guess")
        for _ in range(5):
            s.rlctl(self.segment, "check", "guess", "fd77:0:0:7::", status=(0, 1))
        self.becomes(["fd77:0:0:7::/64"], 6)
        for source, wanted in (("fd77:0:0:7::1", "dropped"), ("fd77:0:0:7:0:0:0:beef", "dropped"), ("fd77:0:0:8::1", "passed")):
            self.assertEqual(clients.connect(source, seconds=5 if wanted == "passed" else 0.3), wanted, source)

    def test_how_many_bits_a_client_has(self):
        self.ban("2001:db8:0:700::", "2001:db8:0:9::", "2001:db8::1", "::ffff:192.0.2.0", "2001:db8:0:a::/128", "--for", "1h")
        s.rlctl(self.segment, "allow", "2001:db8:0:9::", "--rule", "api", "--for", "1h")
        one, all_of = ["2001:db8::1", "2001:db8:0:a::"], "2001:db8:0:700::-2001:db8:0:7{}:ffff:ffff:ffff:ffff"
        for options, wanted in (((), [*one, all_of.format("00")]), (("--client-v6", "64"), [*one, all_of.format("00")]),
                                (("--client-v6", "56"), [*one, all_of.format("ff")]),
                                (("--client-v6", "128"), [*one, "2001:db8:0:700::"])):
            self.assertEqual(re.findall(r"v6 { (\S+)", self.dry(*options)), wanted, options)
        self.assertIn("v4 { 192.0.2.0 ", self.dry())
        for bits in ("0", "129", "", "x", "+64", "6 4"):
            s.within(s.HOST, s.NFT, "--segment", self.segment, "--dry-run", "--client-v6", bits, status=(2,))
        s.within(s.HOST, s.NFT, "--segment", "no/name", status=(2,))

    def test_remove(self):
        self.mirror()
        process = s.mirror(self.segment, "--remove")
        self.assertEqual(process.wait(s.PATIENCE), 0)
        again = s.start("ip", "netns", "exec", s.CLIENTS, s.NFT, "--remove")
        self.assertEqual(again.wait(s.PATIENCE), 0, "where there is none, it is no error")

    def test_segment_comes_later_and_is_made_anew(self):
        s.rlctl(self.segment, "unlink", "--yes")
        process = s.mirror(self.segment)
        self.addCleanup(s.end, process)
        s.eventually(lambda: "the sets stay as they are" in s.log(), "it says that there is none")
        name = self.segment
        s.remake_segment(name)
        self.ban("192.0.2.1", "--for", "1h")
        self.becomes(["192.0.2.1"])
        s.rlctl(name, "unlink", "--yes")
        time.sleep(1.2)
        self.assertEqual(s.names(), ["192.0.2.1"])
        s.remake_segment(name)
        self.ban("192.0.2.2", "--for", "1h")
        self.becomes(["192.0.2.2"])

    def test_needs_one_capability(self):
        self.ban("192.0.2.1", "--for", "1h")
        # Where any user finds them, wherever this tree is.
        os.chmod(s.work, 0o755)
        for path in (s.NFT, os.path.join(s.LIBRARY, "librl.so.1")):
            shutil.copy(path, s.work)
        path = f"/dev/shm/rl/rl.{self.segment}"
        path = path if os.path.exists(path) else f"/dev/shm/rl.{self.segment}"
        os.chown(path, 65534, 65534)
        user = ("env", f"LD_LIBRARY_PATH={s.work}", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                "--no-new-privs")
        program = os.path.join(s.work, os.path.basename(s.NFT))
        process = self.mirror(program=program, wrap=(
            *user, "--bounding-set", "-all,+net_admin", "--inh-caps", "-all,+net_admin", "--ambient-caps", "-all,+net_admin"))
        self.becomes(["192.0.2.1"])
        s.end(process)
        process = s.mirror(self.segment, program=program, wrap=(*user, "--bounding-set", "-all", "--inh-caps", "-all"))
        self.assertEqual(process.wait(s.PATIENCE), 1)
        self.assertIn("Operation not permitted", s.log())

    def test_host_has_slept(self):
        # The kernel's timeouts do not go on meanwhile, and bans do.
        by, shim = os.path.join(s.work, "by"), self.shim("slept", """#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int error = real(clock, t), seconds = 0;
	FILE *file = clock == CLOCK_BOOTTIME ? fopen(getenv("RL_BY"), "r") : NULL;
	if (file) {
		if (fscanf(file, "%d", &seconds) == 1)
			t->tv_sec += seconds;
		fclose(file);
	}
	return error;
}
""")
        self.ban("192.0.2.1", "--for", "1h")
        self.ban("192.0.2.2", "--for", "10m")
        self.mirror(wrap=("env", f"LD_PRELOAD={shim}", f"RL_BY={by}"))
        self.becomes(["192.0.2.1", "192.0.2.2"])
        with open(by, "w", encoding="utf-8") as file:
            file.write("1800")
        self.becomes(["192.0.2.1"])
        self.assertLessEqual(s.elements()[0][1], 1800)


class Spans(Case):
    """Any networks within each other, against a plain model: each address by itself."""

    def check(self, base, bits, rounds):
        rng = random.Random(base)
        space = ipaddress.ip_network(base)
        now = int(time.time())
        for _ in range(rounds):
            set_here, banned, exempt = [], {}, set()
            for _ in range(12):
                prefix = rng.randint(space.prefixlen, bits)
                first = int(space.network_address) + rng.randrange(space.num_addresses)
                network = ipaddress.ip_network((first, prefix), strict=False)
                end = rng.choice([now + 1000, now + 2000, now + 3000])
                is_exempt = rng.random() < 0.3
                if str(network) in set_here:
                    continue
                set_here.append(str(network))
                s.rlctl(self.segment, "allow" if is_exempt else "ban", str(network), "--yes", "--until", f"@{end}")
                for address in network:
                    if is_exempt:
                        exempt.add(int(address))
                    else:
                        banned[int(address)] = max(end, banned.get(int(address), 0))
            shown, read_at = s.within(s.HOST, s.NFT, "--segment", self.segment, "--dry-run"), time.time()
            got = {}
            spans = re.findall(r"{ ([^ -]+)(?:-(\S+))? timeout (\d+)ms", shown)
            for first, last, left in spans:
                for one in range(int(ipaddress.ip_address(first)), int(ipaddress.ip_address(last or first)) + 1):
                    self.assertNotIn(one, got, "spans overlap")
                    got[one] = now + 1000 * round((read_at + int(left) / 1000 - now) / 1000)
            self.assertEqual(got, {one: end for one, end in banned.items() if one not in exempt})
            for pattern in set_here:
                s.rlctl(self.segment, "unban", pattern)

    def test_v4(self):
        self.check("192.0.2.0/26", 32, 4)
        self.check("255.255.255.192/26", 32, 2)

    def test_v6(self):
        self.check("2001:db8::/122", 128, 2)
        self.check("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0/122", 128, 2)


class Many(Case):
    bans = 100000

    def test_60000_networks(self):
        text = "".join(f"{a}.{b}.{c}.0/25\n" for a in (11, 12, 13) for b in range(100) for c in range(200))
        s.run(s.RLCTL, "--segment", self.segment, "ban", "--for", "1h", "-", text=text)
        before = self.slab()
        process = self.mirror()
        time.sleep(1)
        s.eventually(lambda: len(s.names()) == 60000, "all are there")
        first = self.cpu(process)
        kernel = self.slab() - before
        changed = []
        for i in range(2):
            spent = self.cpu(process)
            s.rlctl(self.segment, "ban", f"192.0.2.{i}", "--for", "1h")
            s.eventually(lambda: s.within(s.HOST, "nft", "get", "element", "inet", "rl", "v4", f"{{ 192.0.2.{i} }}",
                                          status=(0, 1)), "a further one")
            changed.append(self.cpu(process) - spent)
        spent, began = self.cpu(process), time.monotonic()
        time.sleep(3)
        idle = (self.cpu(process) - spent) / (time.monotonic() - began)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            held = int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1))
        print(f"\n60,000 networks: {first:.2f} s of a CPU for the first, {max(changed):.2f} s with one more, {idle:.3f} of it "
              f"while nothing changes; {held >> 10} MiB here, {kernel >> 10} MiB in the kernel")
        self.assertLess(held, 50 << 10)
        self.assertLess(min(changed), 0.5)

    @staticmethod
    def cpu(process):
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def slab():
        with open("/proc/meminfo", encoding="utf-8") as file:
            return int(re.search(r"SUnreclaim:\s+(\d+)", file.read()).group(1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
