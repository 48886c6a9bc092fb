# SPDX-License-Identifier: Apache-2.0
"""libwhirr by ctypes: the functions of whirr.h that this package needs, and one handle."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Optional

if TYPE_CHECKING:
    from .answers import Metrics, Placement, Resources, WhyNow


class WhirrError(OSError):
    """What libwhirr could not do, in its own words."""


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("source", ctypes.c_char_p), ("sysroot", ctypes.c_char_p), ("socket", ctypes.c_char_p),
                ("direct", ctypes.c_int)]


_library: Optional[ctypes.CDLL] = None


_INSIDE = pathlib.Path(__file__).parent / "lib"  # of a wheel


_NAMES = {"win32": "whirr.dll", "darwin": "libwhirr.1.dylib"}
_MISSING = {"win32": "unpack the zip of whirr and add its folder to PATH, or set WHIRR_LIBRARY",
            "darwin": "install whirr, or set WHIRR_LIBRARY"}


def places(platform: str, inside: pathlib.Path, program: Optional[str]) -> list[pathlib.Path]:
    """Where the library may be on a system (sys.platform), first the one of this package; `program` is where whirr itself is, as far as it is known. Behind
    them comes the system's own way to find it."""
    name = _NAMES.get(platform, "libwhirr.so.1")
    found = [inside / name]
    if program and platform in _NAMES:
        folder = pathlib.Path(program).resolve().parent  # a link leads to where it was unpacked
        found.append(folder / name if platform == "win32" else folder.parent / "lib" / name)
    if platform == "darwin":  # the loader doesn't look where Homebrew puts it
        found += [pathlib.Path(prefix, "lib", name) for prefix in ("/opt/homebrew", "/usr/local")]
    return found


def choose(platform: str, inside: pathlib.Path, program: Optional[str]) -> str:
    """The first that is there, or a name for the system to find."""
    return next((str(path) for path in places(platform, inside, program) if path.exists()), _NAMES.get(platform, "libwhirr.so.1"))


def _name() -> str:
    """The library that WHIRR_LIBRARY names, the one of this package, the one of the program, or the system's."""
    name = os.environ.get("WHIRR_LIBRARY") or choose(sys.platform, _INSIDE, shutil.which("whirr"))
    if pathlib.Path(name).parent == _INSIDE:
        for other in sorted(_INSIDE.glob("*.so.*")):  # what it is linked with, which no path of the loader leads to
            if str(other) != name:
                ctypes.CDLL(str(other))
    return name


def library() -> ctypes.CDLL:
    global _library
    if _library is None:
        name = "libwhirr"
        try:
            name = _name()
            lib = ctypes.CDLL(name)
        except OSError as problem:
            raise ImportError(f"{name} cannot be loaded ({problem}); {_MISSING.get(sys.platform, 'install libwhirr1')}") from problem
        text = ctypes.POINTER(ctypes.c_void_p)
        for function, result, arguments in (
                ("whirr_open", ctypes.c_int, [ctypes.POINTER(_Options), text]), ("whirr_close", None, [ctypes.c_void_p]),
                ("whirr_error", ctypes.c_char_p, [ctypes.c_void_p]), ("whirr_free", None, [ctypes.c_void_p]),
                ("whirr_version", ctypes.c_char_p, []), ("whirr_asks_daemon", ctypes.c_int, [ctypes.c_void_p]),
                ("whirr_sample", ctypes.c_int, [ctypes.c_void_p, text]), ("whirr_sample_json", ctypes.c_int, [ctypes.c_void_p, text]),
                ("whirr_sample_free", None, [ctypes.c_void_p]), ("whirr_resources_json", ctypes.c_int, [ctypes.c_void_p, text]),
                ("whirr_why", ctypes.c_int, [ctypes.c_void_p, text]), ("whirr_why_json", ctypes.c_int, [ctypes.c_void_p, text]),
                ("whirr_fit", ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, text]),
                ("whirr_room_ask", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64]), ("whirr_room_done", ctypes.c_int, [ctypes.c_void_p])):
            entry = getattr(lib, function)
            entry.restype, entry.argtypes = result, arguments
        _library = lib
    return _library


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)


def _discard(lib: ctypes.CDLL, w: int, opened_by: int) -> None:
    """Frees its descriptors and threads. A forked child has a copy of the handle without the threads that closing it waits for."""
    if os.getpid() == opened_by:
        lib.whirr_close(w)


class Handle:
    """An open libwhirr. Threads may share it: their calls take turns. One that is dropped closes by itself, and one that is closed raises ValueError."""

    def __init__(self, source: Optional[str] = None, sysroot: Optional[str] = None, socket: Optional[str] = None, direct: bool = False):
        self._lib = library()
        self._lock = threading.Lock()
        w = ctypes.c_void_p()
        options = _Options(ctypes.sizeof(_Options), _bytes(source), _bytes(sysroot), _bytes(socket), int(direct))
        self._check(self._lib.whirr_open(ctypes.byref(options), ctypes.byref(w)), None)
        self._w = w.value
        self._discard = weakref.finalize(self, _discard, self._lib, self._w, os.getpid())
        self._discard.atexit = False  # a thread may still be using it when the process ends

    def close(self) -> None:
        """Waits for the call that another thread is in. Closing twice is fine."""
        with self._lock:
            self._w = None
            self._discard()

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._w is None

    @contextlib.contextmanager
    def _turn(self) -> Iterator[int]:
        """The open handle, for this thread alone."""
        with self._lock:
            if self._w is None:
                raise ValueError("the handle is closed")
            yield self._w

    def _check(self, code: int, w: Optional[int]) -> int:
        if code < 0:
            raise WhirrError(-code, self._lib.whirr_error(w).decode(errors="replace"))
        return code

    def _text(self, w: int, function: str, *arguments: Any) -> str:
        text = ctypes.c_void_p()
        self._check(getattr(self._lib, function)(*arguments or (w,), ctypes.byref(text)), w)
        try:
            return (ctypes.cast(text, ctypes.c_char_p).value or b"").decode(errors="replace")
        finally:
            self._lib.whirr_free(text)

    def asks_daemon(self) -> bool:
        with self._turn() as w:
            return bool(self._check(self._lib.whirr_asks_daemon(w), w))

    def status(self) -> Metrics:
        sample = ctypes.c_void_p()
        with self._turn() as w:
            self._check(self._lib.whirr_sample(w, ctypes.byref(sample)), w)
            try:
                text = self._text(w, "whirr_sample_json", sample)
            finally:
                self._lib.whirr_sample_free(sample)
        return json.loads(text)

    def resources(self) -> Resources:
        with self._turn() as w:
            return json.loads(self._text(w, "whirr_resources_json"))

    def why(self) -> str:
        with self._turn() as w:
            return self._text(w, "whirr_why")

    def explain(self) -> WhyNow:
        with self._turn() as w:
            return json.loads(self._text(w, "whirr_why_json"))

    def fit(self, what: str) -> Placement:
        with self._turn() as w:
            return json.loads(self._text(w, "whirr_fit", w, os.fsencode(what)))

    def ask_room(self, wait: float) -> bool:
        with self._turn() as w:
            return bool(self._check(self._lib.whirr_room_ask(w, int(wait * 1000)), w))

    def release_room(self) -> None:
        with self._turn() as w:
            self._check(self._lib.whirr_room_done(w), w)
