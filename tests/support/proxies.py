# SPDX-License-Identifier: Apache-2.0
"""Debian's nginx and HAProxy in front of a daemon, as child processes with their own files and port."""
import os
import shutil
import socket
import subprocess

import pytest
from ports import free_port
from waiting import PATIENCE, eventually

NGINX = """daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            {fields}
        }}
    }}
}}
"""
HAPROXY = """defaults
    mode http
    timeout connect 30s
    timeout client 90s
    timeout server 90s
    {fields}
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server whirr {upstream}
"""


NGINX_BASE = """proxy_pass http://{upstream};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            """


class Proxy:
    """kind: "nginx" or "haproxy"; tells: adds X-Forwarded-For; unix: connects to the daemon's Unix socket; recipe: only these lines
    in the location of nginx, which runs as www-data if the test is root."""

    def __init__(self, kind, daemon, folder, tells=True, unix=False, recipe=None):
        program = shutil.which(kind, path=os.environ["PATH"] + ":/usr/sbin")
        if not program:
            pytest.skip(f"{kind} is not installed (tools/deps test)")
        folder.mkdir()
        self.port, config = free_port(), folder / "conf"
        if kind == "nginx":
            fields = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto https;" if tells else ""
            upstream = f"unix:{daemon.sock}:" if unix else f"127.0.0.1:{daemon.port}"
            fields = NGINX_BASE.format(upstream=upstream) + fields
        else:
            fields = "option forwardfor" if tells else ""
            upstream = f"unix@{daemon.sock}" if unix else f"127.0.0.1:{daemon.port}"
        user = "master_process off;"
        if recipe is not None:
            fields = recipe
            user = "worker_processes 1;" + (" user www-data;" if os.geteuid() == 0 else "")
        config.write_text({"nginx": NGINX, "haproxy": HAPROXY}[kind].format(folder=folder, port=self.port, upstream=upstream, fields=fields, user=user))
        command = [program, "-c", str(config)] if kind == "nginx" else [program, "-db", "-f", str(config)]
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        eventually(self.answers, explain=lambda: (folder / "log").read_text())

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
            return True
        except OSError:
            assert self.process.poll() is None
            return False

    def stop(self):
        self.process.terminate()  # nginx's workers end with their master
        self.process.wait()
        self.log.close()
