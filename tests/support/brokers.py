# SPDX-License-Identifier: Apache-2.0
"""Debian's mosquitto with its own configuration and a record of its messages, and a notification server on its own D-Bus session."""
import contextlib
import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading

from ports import free_port
from waiting import PATIENCE, eventually

READY = "whirr-test/ready"


class Broker:
    """A running mosquitto. login: requires whirr/p4ssw0rd. tls: has a certificate for localhost. Clients connect through a relay that
    opens once our subscriber is connected, so that it misses nothing."""

    def __init__(self, folder, login=False, tls=False, port=0):
        self.folder, self.port, self.inside, self.scheme = folder, port or free_port(), free_port(), "mqtts" if tls else "mqtt"
        lines = [f"listener {self.inside} 127.0.0.1", "persistence false", f"allow_anonymous {'false' if login else 'true'}"]
        if login:
            subprocess.run(["mosquitto_passwd", "-b", "-c", folder / "passwords", "whirr", "p4ssw0rd"], check=True, capture_output=True)
            (folder / "passwords").chmod(0o644)
            lines.append(f"password_file {folder}/passwords")
        self.ca = folder / "broker.pem"
        if tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "broker.key", "-out", self.ca,
                            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
            (folder / "broker.key").chmod(0o644)
            lines += [f"certfile {self.ca}", f"keyfile {folder}/broker.key"]
        lines.append("user root" if os.getuid() == 0 else "")
        (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")
        self.login = ["-u", "whirr", "-P", "p4ssw0rd"] if login else []
        self.tls = ["--cafile", str(self.ca)] if tls else []
        self.start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self):
        """Waits until it listens and its subscriber is connected: a retained message reaches every new subscriber."""
        self.process = subprocess.Popen([mosquitto(), "-c", self.folder / "mosquitto.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.messages, hears = [], threading.Event()
        eventually(lambda: self._client("mosquitto_pub", "-t", READY, "-m", "x", "-r").wait() == 0, explain="no broker")
        self.reader = self._client("mosquitto_sub", "-t", "#", "-F", "%j")
        threading.Thread(target=self._read, args=(self.reader, self.messages, hears), daemon=True).start()
        assert hears.wait(PATIENCE), "the broker says nothing"
        self.door = Door(self.port, self.inside)

    def _client(self, program, *args):
        return subprocess.Popen([program, "-h", "127.0.0.1", "-p", str(self.inside), *self.login, *self.tls, "-q", "1", *args],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    @staticmethod
    def _read(reader, messages, hears):
        for line in reader.stdout:
            message = json.loads(line)
            if message["topic"] == READY:
                hears.set()
            else:
                messages.append(message)

    def on(self, topic):
        """The payloads of a topic, oldest first; JSON is parsed."""
        found = [m["payload"] for m in list(self.messages) if m["topic"] == topic]
        return [json.loads(p) if isinstance(p, str) and p.startswith("{") else p for p in found]

    def topics(self):
        return {m["topic"] for m in list(self.messages)}

    def stop(self):
        self.door.close()
        for p in (self.reader, self.process):
            p.terminate()
            p.wait()

    close = stop


class Door(socketserver.ThreadingTCPServer):
    """Forwards connections from one port to another."""
    allow_reuse_address = daemon_threads = True

    def __init__(self, port, inside):
        class Visit(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", inside)) as there:
                    threading.Thread(target=carry, args=(there, self.request), daemon=True).start()
                    carry(self.request, there)

        super().__init__(("127.0.0.1", port), Visit)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


def carry(one, other):
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for s in (one, other):
        with contextlib.suppress(OSError):
            s.shutdown(socket.SHUT_RDWR)


def mosquitto():
    return shutil.which("mosquitto") or shutil.which("/usr/sbin/mosquitto")


SERVER = """
import json, sys
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
class Server(dbus.service.Object):
    count = 0
    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return sys.argv[1].split(",")
    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, title, body, actions, hints, expire):
        Server.count += 1
        id = int(replaces) or Server.count
        print(json.dumps(dict(app=str(app), replaces=int(replaces), id=id, title=str(title), body=str(body), actions=[str(a) for a in actions],
                              urgency=int(hints["urgency"]))), flush=True)
        return dbus.UInt32(id)
    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, id, action):
        pass
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
server = Server(bus, PATH)
def click(source, condition):
    words = sys.stdin.readline().split()
    if not words:
        loop.quit()
        return False
    server.ActionInvoked(dbus.UInt32(int(words[0])), words[1])
    return True
loop = GLib.MainLoop()
GLib.io_add_watch(0, GLib.IO_IN, click)
print(json.dumps("ready"), flush=True)
loop.run()
"""


class Desktop:
    """A D-Bus session with a notification server that records what it shows, and clicks on request."""

    def __init__(self, capabilities="actions,body,body-markup", server=True):
        self.bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, text=True)
        self.address = self.bus.stdout.readline().strip()
        self.environment = {"DBUS_SESSION_BUS_ADDRESS": self.address}
        self.shown, self.server = [], None
        if server:
            self.serve(capabilities)

    def serve(self, capabilities="actions,body,body-markup"):
        self.server = subprocess.Popen(["/usr/bin/python3", "-c", SERVER, capabilities], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, **self.environment})
        assert json.loads(self.server.stdout.readline()) == "ready"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.server.stdout:
            self.shown.append(json.loads(line))

    def click(self, note, action):
        self.server.stdin.write(f"{note['id']} {action}\n")
        self.server.stdin.flush()

    def close(self):
        for p in (self.server, self.bus):
            if p:
                p.terminate()
                p.wait()


def have_desktop():
    try:
        import dbus  # noqa: F401
        import gi  # noqa: F401
    except ImportError:
        return False
    return shutil.which("dbus-daemon") is not None and sys.platform == "linux"
