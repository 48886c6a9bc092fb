# SPDX-License-Identifier: Apache-2.0
"""Records which files below a directory are opened, with inotify."""
import ctypes
import os
import select
import struct

IN_OPEN, IN_ISDIR, IN_Q_OVERFLOW = 0x20, 0x40000000, 0x4000
_libc = ctypes.CDLL(None, use_errno=True)


class Opens:
    def __init__(self, root):
        """Watches all present files; the kernel follows links, so a file counts where it really is."""
        self.fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folders = {}
        for folder, _, _ in os.walk(root):
            watch = _libc.inotify_add_watch(self.fd, os.fsencode(folder), IN_OPEN)
            assert watch >= 0, os.strerror(ctypes.get_errno())
            self.folders[watch] = os.path.relpath(folder, root)

    def take(self):
        """The files that were opened since the last call, as paths below the root."""
        found = set()
        while select.select([self.fd], [], [], 0)[0]:
            data, at = os.read(self.fd, 1 << 16), 0
            while at < len(data):
                watch, mask, _, length = struct.unpack_from("iIII", data, at)
                name = data[at + 16:at + 16 + length].rstrip(b"\0").decode()
                assert not mask & IN_Q_OVERFLOW
                if not mask & IN_ISDIR and name:
                    found.add(os.path.join(self.folders[watch], name))
                at += 16 + length
        return found

    def close(self):
        os.close(self.fd)
