#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the suites that Debian's source packages of limits and Flask-Limiter ship, on rl: what they ask of a store in
memory is asked of a segment. peers.json has the arguments for each, and the tests that do not pass with the reason of
each: one that passes although it is there, and one that fails although it is not, is a failure. "not run here" has
what fails on rl, and not on the original, in the suites of other programs, and of versions that Debian has not: nothing
runs them.

The sources come by a source list of its own, into a temporary directory. Exits 77 with the reason where apt has none.
Run from the top of the repository, after make build-python: make peers.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TARGETS = "$(CODENAME) $(COMPONENT) $(REPO_URI)"


def output(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def source_list(directory):
    """What apt has packages of, as sources: its options for apt-get."""
    lines = set()
    for line in output("apt-get", "indextargets", "--format", TARGETS, "Created-By: Packages").splitlines():
        codename, component, uri = line.split()
        lines.add(f"deb-src {uri} {codename} {component}\n")
    path = os.path.join(directory, "sources.list")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(sorted(lines))
    os.makedirs(os.path.join(directory, "lists/partial"))
    return [
        "-o", f"Dir::Etc::sourcelist={path}", "-o", "Dir::Etc::sourceparts=-",
        "-o", f"Dir::State::lists={directory}/lists",
    ]  # fmt: skip


def fetch(package, directory, options):
    """The unpacked source."""
    subprocess.run(
        ["apt-get", *options, "source", "-qq", package], cwd=directory, check=True, capture_output=True, text=True
    )
    return next(path for path in glob.glob(f"{directory}/{package}-*") if os.path.isdir(path))


def play(source, arguments):
    """The tests that did not pass, and how many there were."""
    path = os.pathsep.join([source, os.path.abspath("build/python"), HERE])
    env = dict(os.environ, PYTHONPATH=path, LD_LIBRARY_PATH=os.path.abspath("build"), PYTHONDONTWRITEBYTECODE="1")
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "peers_plugin", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(words, cwd=source, env=env, capture_output=True, text=True)
    found = {name: how for how, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.M)}
    if "PASSED" not in found.values():
        print(done.stdout[-3000:], done.stderr[-3000:])
    return {name for name, how in found.items() if how != "PASSED"}, found


def judge(package, failed, found, reasons):
    """False if a test ended otherwise than peers.json says."""
    known = {name for name in failed if any(re.search(pattern, name) for pattern in reasons)}
    passes = [pattern for pattern in reasons if not any(re.search(pattern, name) for name in failed)]
    for name in sorted(failed - known):
        print(f"{package}: {name} fails")
    for pattern in passes:
        print(f"{package}: {pattern} passes; peers.json says that it fails")
    print(f"{package}: {len(found) - len(failed)} of {len(found)} passed, {len(known)} fail for a known reason")
    return bool(found) and failed == known and not passes


def main():
    with open(os.path.join(HERE, "peers.json"), encoding="utf-8") as file:
        peers = json.load(file)["run"]
    good = True
    with tempfile.TemporaryDirectory() as directory:
        try:
            options = source_list(directory)
            subprocess.run(["apt-get", *options, "update", "-qq"], check=True, capture_output=True, text=True)
            sources = {package: fetch(package, directory, options) for package in peers}
        except (subprocess.CalledProcessError, OSError) as error:
            print((getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1])
            print("peers: apt has no source packages here")
            return 77
        for package, peer in peers.items():
            failed, found = play(sources[package], peer["arguments"])
            good = judge(package, failed, found, peer["fails"]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
