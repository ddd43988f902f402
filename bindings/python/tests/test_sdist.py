# SPDX-License-Identifier: BSD-2-Clause
"""What is installed imports. The sdist builds where librl is not installed, with pip, and shares segments with what is
built here."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile

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


def test_a_built_tree_finds_its_librl(tmp_path):
    """As `make build-python` leaves it, without a word of where librl is."""
    tree = os.path.dirname(os.path.dirname(rl.__file__))
    told = run(sys.executable, "-c", "import rl; print(open('/proc/self/maps').read())", cwd=tmp_path, PYTHONPATH=tree)
    assert os.path.join(os.path.dirname(tree), "librl.so.1") in told


def readme_command():
    """What README.md says to type, as one types it without a network."""
    with open(os.path.join(TOP, "bindings/python/README.md"), encoding="utf-8") as file:
        text = file.read()
    (command,) = re.findall(r"`(python3 -m pip install [^`]*)`", text)
    assert "without a network add `--no-build-isolation`" in text
    return command + " --no-build-isolation"


def test_sdist(name, tmp_path):
    run("make", "-s", "sdist-python", cwd=TOP)
    archive = os.path.join(TOP, f"build/python/dist/rl_shm-{rl.__version__}.tar.gz")
    alone = tmp_path / "alone"
    with tarfile.open(archive) as tar:
        tar.extractall(alone)
    (source,) = alone.iterdir()
    assert not list(source.glob("tests")) and not list(source.rglob("*.so"))
    assert (source / "LICENSE").exists() and (source / "vendor/libshm").is_dir() and (source / "rl/py.typed").exists()
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", str(venv), cwd=tmp_path)
    quiet = {"PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    run("sh", "-c", readme_command(), cwd=TOP, CFLAGS="-O0", PATH=f"{venv}/bin:{os.environ['PATH']}", **quiet)
    (tags,) = venv.glob("lib/python*/site-packages/rl_shm-*.dist-info/WHEEL")
    assert "Tag: cp311-abi3-linux" in tags.read_text()
    with rl.Segment(name) as segment:
        rule = segment.rule("login", "3/h")
        rule.check("alice")
        code = f"import rl; r = rl.Segment({name!r}).find('login'); print(rl.__file__, rl.__version__, [bool(r.check('alice')) for _ in 'abc'])"
        told = run(str(venv / "bin/python3"), "-c", code, cwd=tmp_path)
        assert told.startswith(str(venv)) and told.endswith(f"{rl.__version__} [True, True, False]\n")
        assert rule.peek("alice").used == 3


def test_the_repository_stays_clean(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(os.path.join(TOP, "bindings/python"), copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    shutil.copy(os.path.join(TOP, "Makefile"), tmp_path.parent)
    words = [sys.executable, "setup.py", "-q", "build_ext"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=copy, env=env, capture_output=True, text=True)
    assert done.returncode != 0 and "make sdist-python" in done.stderr and not list(copy.rglob("*.o"))
