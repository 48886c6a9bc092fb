# SPDX-License-Identifier: Apache-2.0
"""GPUs of any vendor, who uses them, and why: whirr in Python, over libwhirr.

    >>> import whirr
    >>> print(whirr.why())
    >>> whirr.status()["gpus"][0]["power_watts"]
    >>> with whirr.room(): train()

Everything comes from a running daemon, or is sampled here. What is not known is None.
"""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Iterator, Optional, TypedDict

from ._library import Handle, WhirrError, library

if TYPE_CHECKING:
    from . import answers

__all__ = ["Handle", "Resources", "WhirrError", "explain", "fit", "get_current_resources", "gpu_stats_to_dict", "open", "processes", "resources", "room",
           "status", "version", "why"]


class Resources(TypedDict):
    """The machine and its best GPU."""
    cpu_percent: Optional[float]  #: since the last call; None in the first, and until 30 ms later
    memory_percent: Optional[float]
    available_memory_gb: Optional[float]
    memory_total_gb: Optional[float]
    gpu_vram_gb: float  #: free on the best GPU, 0.0 where there is none or its driver does not say
    gpu_available: bool
    gpu_name: Optional[str]
    gpu_total_vram_gb: Optional[float]
    gpu_used_vram_gb: Optional[float]
    gpu_free_vram_gb: Optional[float]
    gpu_utilization_percent: Optional[float]
    gpu_temperature_c: Optional[float]
    gpu_count: int
    gpu_source: Optional[str]


GPU_FIELDS = ("gpu_available", "gpu_name", "gpu_total_vram_gb", "gpu_used_vram_gb", "gpu_free_vram_gb", "gpu_utilization_percent", "gpu_temperature_c",
              "gpu_count", "gpu_source")

_shared: Optional[Handle] = None
_lock = threading.Lock()


def open(source: Optional[str] = None, sysroot: Optional[str] = None, socket: Optional[str] = None, direct: bool = False) -> Handle:
    """A handle of your own: another source, a recorded machine, another daemon."""
    return Handle(source, sysroot, socket, direct)


def _handle() -> Handle:
    global _shared
    with _lock:
        if _shared is None:
            _shared = Handle()
        return _shared


def version() -> str:
    """Of libwhirr."""
    return library().whirr_version().decode()


def status() -> answers.Metrics:
    """All that is known of every GPU: what `whirr status --json` prints."""
    return _handle().status()


def processes() -> list[answers.ProcessOnGpu]:
    """Every process on every GPU, with its gpu_index."""
    return [{"gpu_index": gpu["index"], "gpu_name": gpu["name"], "simulated": gpu["simulated"], **process} for gpu in status()["gpus"] for process in gpu["processes"] or []]


def why() -> str:
    """Why the GPUs are busy, hot, loud or slow, in a sentence."""
    return _handle().why()


def explain() -> answers.WhyNow:
    """The same with causes, evidence and advice: what `whirr why --json` prints."""
    return _handle().explain()


def fit(what: str) -> answers.Placement:
    """Does an amount ("24GiB") or a model (a path) fit, and where? `fits` is the answer: None where free memory isn't reported."""
    return _handle().fit(what)


def resources() -> answers.Resources:
    """CPU, memory, network and the best GPU in one flat object: what `whirr resources --json` prints."""
    return _handle().resources()


def get_current_resources() -> Resources:
    """The fields that resource monitors expect, and no others."""
    all_of_them = resources()
    return {name: all_of_them[name] for name in Resources.__annotations__}  # type: ignore[return-value]


def gpu_stats_to_dict(stats: Optional[dict[str, Any]] = None) -> dict[str, Any]:
    """The nine GPU fields of `stats` (default: of now), and gpu_vram_gb for clients that know no other."""
    of = get_current_resources() if stats is None else stats
    free = of.get("gpu_free_vram_gb")
    return {**{name: of.get(name) for name in GPU_FIELDS}, "gpu_vram_gb": of.get("gpu_vram_gb", free if free is not None else 0.0)}


@contextlib.contextmanager
def room(wait: float = 120.0, required: bool = False) -> Iterator[bool]:
    """Asks the workers under guard to make room on the GPUs, and lets them back at the end. Yields whether there is room; `required`: raises
    TimeoutError where there is none after `wait` seconds."""
    with Handle() as handle:
        there = handle.ask_room(wait)
        try:
            if required and not there:
                raise TimeoutError(f"a worker still holds the GPU after {wait:g} s (whirr guard status)")
            yield there
        finally:
            handle.release_room()
