# SPDX-License-Identifier: Apache-2.0
"""whirr.exe asks a host by HTTPS, through the TLS of Windows (SChannel) as Wine has it. Certificates of `ca` are checked by libcurl itself; those of the system
by Windows, which Wine leaves out.

WHIRR_BIN=tests/windows/whirr pytest tests/windows
"""
import os
import pathlib
import re
import subprocess

import pytest
from isolation import ON_WINDOWS, ROOT, environment, run_whirr
from waiting import eventually

pytestmark = pytest.mark.skipif(not ON_WINDOWS, reason="WHIRR_BIN is not tests/windows/whirr")
LINUX = pathlib.Path(os.environ.get("WHIRR_LINUX", ROOT / "build" / "whirr"))


def certificate_of(folder, name):
    made = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


@pytest.fixture
def port(tmp_path):
    """Of a daemon on Linux."""
    certificate, key = certificate_of(tmp_path, "localhost")
    log = tmp_path / "log"
    (tmp_path / "there").mkdir()
    with log.open("w") as to:
        daemon = subprocess.Popen([LINUX, "serve", "--source", "sim:gpus=2", "--listen", "127.0.0.1:0", "--store", "none", "--socket", str(tmp_path / "s")], stderr=to,
                                  env=environment(tmp_path / "there", WHIRR_SERVER_TLS_CERTIFICATE=str(certificate), WHIRR_SERVER_TLS_KEY=str(key)))
    try:
        yield eventually(lambda: (found := re.search(r"address=127\.0\.0\.1:(\d+)", log.read_text())) and found[1], explain=log.read_text)
    finally:
        daemon.kill()
        daemon.wait()


def test_certificates_are_checked(port, tmp_path):
    certificate_of(tmp_path, "other")
    tables = {"right": ("localhost", "localhost"), "untrusted": ("localhost", "other"), "misnamed": ("127.0.0.1", "localhost")}
    config = tmp_path / "hosts.toml"
    config.write_text("".join(f'[hosts.{name}]\naddress = "https://{address}:{port}"\nca = "{tmp_path}/{ca}.pem"\n' for name, (address, ca) in tables.items()))
    config.chmod(0o600)

    def ask(name):
        return run_whirr("--config", config, "--host", name, "devices", folder=tmp_path / "here")

    (tmp_path / "here").mkdir()
    right, untrusted, misnamed = map(ask, tables)
    assert right.returncode == 0 and "SIMULATED" in right.stdout, right
    assert untrusted.returncode == 1 and "CERT_TRUST_IS_UNTRUSTED_ROOT" in untrusted.stderr and "set ca in [hosts.untrusted]" in untrusted.stderr, untrusted
    assert misnamed.returncode == 1 and "is for other names: use one of them as the address in [hosts.misnamed]" in misnamed.stderr, misnamed
