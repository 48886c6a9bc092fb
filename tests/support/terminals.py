# SPDX-License-Identifier: Apache-2.0
"""whirr in its own tmux terminal, with real keys, mouse and captures."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from isolation import WHIRR, environment
from waiting import PATIENCE, eventually

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Terminal:
    def __init__(self, folder, args, width=80, height=24, program=WHIRR, **env):
        self.socket = str(folder / "t")
        self.log = folder / "exit"
        wanted = dict({"TERM": "xterm-256color"}, **env)
        command = " ".join(f"{name}='{value}'" for name, value in environment(**wanted).items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  f"sh -c 'stty -a > {folder}/before; env -i {self.quote(command)} {program} {args}; echo status $? > {self.log}; "
                  f"stty -a > {folder}/after; echo AFTER; exec sleep 600'")
        self.folder = folder

    @staticmethod
    def quote(text):
        return text.replace("'", "\"")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True, text=True, timeout=PATIENCE, check=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}).stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def keys(self, *keys):
        self.tmux("send-keys", "--", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def wait(self, text, seconds=PATIENCE):
        """The first screen that has the text (a regular expression)."""
        return eventually(lambda: re.search(text, screen := self.screen()) and screen, seconds, lambda: f"{text!r}:\n{self.screen()}")

    def wait_all(self, *texts, gone=()):
        """The first screen with all texts (regular expressions) and none of `gone`: a capture may show a half-drawn screen."""
        return eventually(lambda: all(re.search(t, screen) for t in texts) and not any(re.search(t, screen) for t in gone) and screen
                          if (screen := self.screen()) else None, explain=lambda: f"{texts}, without {gone}:\n{self.screen()}")

    def flags(self):
        """The modes of mouse, alternate screen and cursor, as the program has left them."""
        return self.tmux("display", "-p", "#{mouse_any_flag}#{alternate_on}#{cursor_flag}").strip()

    def pid(self):
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}"))

        def below(parent):
            """The PID of whirr, a descendant of this process: the number of shells in between depends on the user's shell."""
            with contextlib.suppress(OSError):  # one of them has just ended
                for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                    if os.readlink(f"/proc/{child}/exe") == os.path.realpath(WHIRR):
                        return int(child)
                    if found := below(child):
                        return found
            return None

        return eventually(lambda: below(shell), explain="whirr is not running")

    def ended(self):
        self.wait("AFTER")
        before, after = ((self.folder / name).read_text().splitlines()[1:] for name in ("before", "after"))  # the first line is the size
        assert before == after  # the terminal is as it was
        assert self.flags() == "001"
        return int(self.log.read_text().split()[1])

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=PATIENCE, check=False)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(args, **more):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        opened.append(Terminal(folder, args, **more))
        return opened[-1]

    yield start
    for t in opened:
        t.close()
