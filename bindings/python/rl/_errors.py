# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong, as exceptions."""

import errno as _errno
import os as _os
import types as _types


class Error(OSError):
    """A call of librl failed: `errno`, its name in rl.h as `symbol`, and a sentence."""

    @property
    def symbol(self):
        """The name of the error in rl.h, or in errno.h."""
        from . import _rl  # which has this module loaded

        return _rl._error_symbol(self.errno)

    def __reduce__(self):
        return type(self), (self.errno, self.strerror)


class InvalidError(Error, ValueError):
    """A field is out of range, or of another kind than the call takes."""


class EmptyKeyError(InvalidError):
    """The key has no bytes. It would limit nobody, so it is never let through."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such segment, and it was not to be created."""


class AccessError(Error, PermissionError):
    """No permission, or not a segment that this process trusts."""


class _Told:
    """The fields of a Result, without its segment: what goes to another process."""

    def __init__(self, result):
        names = vars(result) if isinstance(result, _Told) else vars(type(result))
        told = {name: getattr(result, name) for name in names if not name.startswith("_")}
        self.__dict__.update({name: value for name, value in told.items() if not callable(value)})
        self.rule = _types.SimpleNamespace(name=result.rule.name)
        self._text = repr(result)

    def __repr__(self):
        return self._text

    def __bool__(self):
        return self.verdict == "allowed"


def _as_it_is(told):
    return told


class Limited(Exception):
    """A request was refused: `result` says by which rule, and for how long. Pickled, it takes the result's fields along,
    and of `rule` the name: a pool of processes hands it on."""

    def __init__(self, result):
        super().__init__(result)
        self.result = result

    def __reduce__(self):
        return type(self), (_Told(self.result),)

    def __str__(self):
        wait = self.result.retry_after
        when = "" if wait is None else "; never again" if wait == float("inf") else f"; again in {wait:.3f} s"
        return f"limited by {self.result.rule.name}{when}"


_CLASSES = {
    _errno.EINVAL: InvalidError,
    _errno.E2BIG: InvalidError,
    _errno.EAFNOSUPPORT: InvalidError,
    _errno.EDESTADDRREQ: EmptyKeyError,
    _errno.ENOENT: NotFoundError,
    _errno.EACCES: AccessError,
    _errno.EPERM: AccessError,
    _errno.EKEYREJECTED: AccessError,
    _errno.EKEYREVOKED: AccessError,
    _errno.ENOKEY: AccessError,
}


def error_of(number, text):
    """The exception for an errno."""
    return _CLASSES.get(number, Error)(number, text or _os.strerror(number))
