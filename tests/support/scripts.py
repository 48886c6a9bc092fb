# SPDX-License-Identifier: Apache-2.0
"""Imports Python programs whose names don't end in .py."""
import importlib.machinery
import importlib.util
import sys


def module(path):
    """The module of a program, without running it; its directory is in the import path."""
    was, sys.path, sys.dont_write_bytecode = (sys.path, sys.dont_write_bytecode), [str(path.parent), *sys.path], True
    try:
        spec = importlib.util.spec_from_loader(path.name, importlib.machinery.SourceFileLoader(path.name, str(path)))
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded
    finally:
        sys.path, sys.dont_write_bytecode = was
