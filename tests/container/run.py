#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The image of examples/container is built, and what its compose.yaml says is run by podman: the workers of both containers
admit one limit together, one that is started anew goes on counting, and with a /dev/shm of its own each would have a limit
of its own. Where no container can be run the files are read alone, and the reason is printed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(TOP, "examples/container")
# What a machine that is itself a container cannot raise.
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
IN_NAMESPACE = "mount --make-rprivate / && mount -t tmpfs -o mode=1777 t /dev/shm && { umount /sys/fs/cgroup/unified 2>/dev/null || :; }"


def read_compose():
    with open(os.path.join(EXAMPLE, "compose.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def only_read(why):
    """Both services mount one volume that there is, and run what the Containerfile makes."""
    compose = read_compose()
    mounts = {volume for service in compose["services"].values() for volume in service["volumes"]}
    assert len(mounts) == 1 and mounts.pop().split(":")[0] in compose["volumes"], compose
    with open(os.path.join(EXAMPLE, "Containerfile"), encoding="utf-8") as file:
        assert "prefork" in file.read()
    print(f"no container can be run here, the files were read: {why}")
    sys.exit()


def enter():
    """In a mount namespace of its own, without the second hierarchy of a hybrid cgroup mount, which crun refuses."""
    if os.environ.get("RL_CONTAINER_TEST"):
        return
    if os.geteuid() != 0:
        only_read("a container can only be run as root here")
    if not shutil.which("podman"):
        only_read("there is no podman")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        only_read("no mount namespace may be made here")
    os.environ["RL_CONTAINER_TEST"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", IN_NAMESPACE + ' && exec "$@"', "-", sys.executable, *sys.argv])


class Podman:
    def __init__(self, where):
        self.base = ["podman", "--root", f"{where}/graph", "--runroot", f"{where}/run", "--tmpdir", f"{where}/tmp",
                     "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
                     "--runtime", "crun"]

    def __call__(self, *args):
        done = subprocess.run([*self.base, *args], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(f"podman {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def up(self, name, service, volumes):
        self("run", "--detach", "--name", name, "--network", service["network_mode"], *LIMITS,
             *[f"--volume={v}" for v in volumes], service["image"], *service["command"])

    def port(self, name):
        for _ in range(400):
            said = re.search(r"listening on 127\.0\.0\.1:(\d+)", self("logs", name))
            if said:
                return int(said[1])
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not listen: {self('logs', name)}")


def build(podman, where):
    context = os.path.join(where, "context")
    shutil.copytree(EXAMPLE, context)
    shutil.copy(os.path.join(TOP, "build/v/musl/prefork"), context)
    podman("build", "--network", "none", "--tag", "rl-web", context)


def can_run(podman, where):
    try:
        build(podman, where)
        podman("run", "--rm", "--network", "host", *LIMITS, "rl-web")
    except RuntimeError as error:
        if "usage: prefork" not in str(error):
            only_read(error)


def admitted(port, requests):
    count = 0
    for _ in range(requests):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
                count += answer.status == 200
        except urllib.error.HTTPError as error:
            assert error.code == 429, error
    return count


def test(podman):
    compose = read_compose()
    services = compose["services"]
    for name, volume in compose["volumes"].items():
        options = [f"--opt={key}={value}" for key, value in volume["driver_opts"].items()]
        podman("volume", "create", "--driver", volume["driver"], *options, name)
    for name, service in services.items():
        podman.up(name, service, service["volumes"])
    shares = [admitted(podman.port(name), 70) for name in services]
    assert sum(shares) == 100 and min(shares) > 0, f"with a volume, not 100 in all: {shares}"

    podman("rm", "--force", "--time", "0", "web-a")
    podman.up("web-a", services["web-a"], services["web-a"]["volumes"])
    again = admitted(podman.port("web-a"), 5)
    assert again == 0, f"a container that was started anew admits {again}"

    for name, service in services.items():
        podman.up(f"{name}-alone", service, [])
    alone = [admitted(podman.port(f"{name}-alone"), 101) for name in services]
    assert alone == [100, 100], f"each with a /dev/shm of its own: {alone}"


def remove(where):
    """What cleans up after a container that has ended goes on beside us, and writes."""
    for _ in range(400):
        shutil.rmtree(where, ignore_errors=True)
        if not os.path.exists(where):
            return
        time.sleep(0.05)
    shutil.rmtree(where)


def main():
    enter()
    where = tempfile.mkdtemp()
    podman = Podman(where)
    try:
        can_run(podman, where)
        test(podman)
    finally:
        subprocess.run([*podman.base, "rm", "--force", "--time", "0", "--all"], capture_output=True, check=False)
        subprocess.run([*podman.base, "volume", "rm", "--force", "--all"], capture_output=True, check=False)
        subprocess.run(["sh", "-c", f"grep -o ' {where}[^ ]*' /proc/self/mounts | sort -r | xargs -r umount -l"], check=False)
        remove(where)


if __name__ == "__main__":
    main()
