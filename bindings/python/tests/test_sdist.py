# SPDX-License-Identifier: BSD-2-Clause
"""What is installed imports. The sdist builds where librl is not installed, with pip, and shares segments with what is
built here."""

import glob
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest
import rl

TOP = os.environ["RL_TOP"]


def run(*words, cwd, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    done = subprocess.run(words, cwd=cwd, env=dict(env, **environment), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "prefix, place", [("/usr", "usr/lib/python3/dist-packages"), ("/usr/local", None), ("/opt/rl", "opt/rl/lib/python*/site-packages")]
)
def test_install(tmp_path, prefix, place):
    run("make", "-s", "install-python", f"PREFIX={prefix}", f"DESTDIR={tmp_path}", cwd=TOP)
    place = place or sysconfig.get_path("platlib").lstrip("/")
    (installed,) = tmp_path.glob(place)
    assert sorted(path.name for path in (installed / "rl").iterdir()) == sorted(os.listdir(os.path.dirname(rl.__file__)))
    told = run(
        sys.executable, "-c", "import rl.limits; print(rl.__file__)", cwd=tmp_path, PYTHONPATH=str(installed),
        LD_LIBRARY_PATH=os.path.join(TOP, "build"),
    )  # fmt: skip
    assert told.strip() == str(installed / "rl/__init__.py")


def test_sdist(name, tmp_path):
    run("make", "-s", "sdist-python", cwd=TOP)
    (archive,) = glob.glob(os.path.join(TOP, "build/python/dist/rl*.tar.gz"))
    alone = tmp_path / "alone"
    with tarfile.open(archive) as tar:
        tar.extractall(alone)
    (source,) = alone.iterdir()
    assert not list(source.glob("tests")) and not list(source.rglob("*.so"))
    assert (source / "LICENSE").exists() and (source / "vendor/libshm").is_dir() and (source / "rl/py.typed").exists()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "wheel", "-q", "--no-deps"]
    run(*pip, "--no-build-isolation", "--no-index", "-w", str(tmp_path), str(source), cwd=tmp_path, CFLAGS="-O1")
    (wheel,) = tmp_path.glob("rl*.whl")
    assert "-cp311-abi3-linux" in wheel.name
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    with rl.Segment(name) as segment:
        rule = segment.rule("login", "3/h")
        rule.check("alice")
        code = f"import rl; r = rl.Segment({name!r}).find('login'); print(rl.__file__, [bool(r.check('alice')) for _ in 'abc'])"
        told = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
        assert told.startswith(str(tmp_path)) and told.endswith("[True, True, False]\n")
        assert rule.peek("alice").used == 3


def test_the_repository_stays_clean(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(os.path.join(TOP, "bindings/python"), copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    shutil.copy(os.path.join(TOP, "Makefile"), tmp_path.parent)
    words = [sys.executable, "setup.py", "-q", "build_ext"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=copy, env=env, capture_output=True, text=True)
    assert done.returncode != 0 and "make sdist-python" in done.stderr and not list(copy.rglob("*.o"))
