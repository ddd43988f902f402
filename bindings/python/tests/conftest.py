# SPDX-License-Identifier: BSD-2-Clause
"""A segment for each test, which goes with it."""

import itertools
import os

import pytest
import rl

_numbers = itertools.count()


@pytest.fixture
def name():
    """The name of a segment that no other process has; removed at the end."""
    made = f"python-{os.getpid()}-{next(_numbers)}"
    yield made
    try:
        rl.unlink(made)
    except rl.NotFoundError:
        pass


@pytest.fixture
def segment(name):
    """A segment that other processes can open."""
    with rl.Segment(name) as made:
        yield made


@pytest.fixture
def private():
    """A segment of this process alone."""
    with rl.Segment(private=True) as made:
        yield made
