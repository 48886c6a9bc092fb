# SPDX-License-Identifier: Apache-2.0
"""make install and make uninstall: what is put there, and that nothing of it stays."""
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, PATIENCE, ROOT


@pytest.fixture
def installed(tmp_path):
    if not shutil.which("meson"):
        pytest.skip("meson is not installed")
    subprocess.run(["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet"], env=dict(os.environ, DESTDIR=str(tmp_path)), check=True,
                   capture_output=True, timeout=PATIENCE)
    return tmp_path


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def uninstall(folder):
    return subprocess.run([ROOT / "tools" / "uninstall", str(BUILD)], env=dict(os.environ, DESTDIR=str(folder)), check=True, capture_output=True,
                          text=True, timeout=PATIENCE).stdout


@pytest.mark.slow
def test_everything_is_installed_and_nothing_stays(installed):
    there = files(installed)
    for name in ("bin/whirr", "lib/systemd/system/whirr.service", "lib/systemd/user/whirr.service", "lib/systemd/system-generators/whirr-kernel-log", "lib/systemd/user-preset/90-whirr.preset", "lib/sysusers.d/whirr.conf",
                 "lib/tmpfiles.d/whirr.conf", "share/bash-completion/completions/whirr", "share/zsh/site-functions/_whirr",
                 "share/fish/vendor_completions.d/whirr.fish", "share/doc/whirr/LICENSES.txt"):
        assert f"usr/local/{name}" in there
    if shutil.which("scdoc"):
        assert {"usr/local/share/man/man1/whirr.1", "usr/local/share/man/man1/whirr-version.1", "usr/local/share/man/man5/whirr.toml.5", "usr/local/share/man/man8/whirr-control.8"} <= there
    unit = (installed / "usr/local/lib/systemd/system/whirr.service").read_text()
    assert "ExecStart=/usr/local/bin/whirr serve" in unit
    assert uninstall(installed).startswith(f"{len(there)} files removed")
    assert list(installed.iterdir()) == []
    assert "Nothing of whirr is installed" in uninstall(installed)


def test_make_install_takes_a_prefix():
    """Without doing it: another prefix builds the paths in the program anew."""
    def said(*args):
        return subprocess.run(["make", "-n", "-C", str(ROOT), f"BUILD={BUILD}", *args], env=dict(os.environ, MAKEFLAGS=""), check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    for target in ("install", "uninstall"):
        assert "-Dprefix=/opt/whirr" in said(target, "PREFIX=/opt/whirr") and "-Dprefix" not in said(target)
        assert "DESTDIR='/tmp/stage'" in said(target, "DESTDIR=/tmp/stage")


def test_notices_of_what_is_embedded_are_installed(installed):
    text = (installed / "usr/local/share/doc/whirr/LICENSES.txt").read_text()
    assert all(words in text for words in ("preact", "swagger-ui-dist/NOTICE", "SmartBear", "swagger-ui-bundle.js.LICENSE.txt"))


def test_debian_gets_completions_where_its_zsh_looks_and_purge_takes_the_settings():
    assert "share/zsh/vendor-completions" in (ROOT / "packaging/debian/rules").read_text()
    purge = (ROOT / "packaging/debian/whirr.postrm").read_text()
    assert re.search(r"rm -rf .*/etc/whirr\b", purge)


@pytest.mark.parametrize("how", ["remove", "purge"])
def test_a_removed_package_leaves_no_link_where_systemd_does_not_run(tmp_path, how):
    """The script of the package, with its paths below a directory of the test."""
    script = re.sub(r"(?<![\w*])/(etc|var|run)/", rf"{tmp_path}/\1/", (ROOT / "packaging/debian/whirr.postrm").read_text())
    links = [tmp_path / "etc/systemd" / path for path in ("system/multi-user.target.wants/whirr.service", "system/sockets.target.wants/whirr-control.socket", "user/default.target.wants/whirr.service")]
    other = tmp_path / "etc/systemd/system/multi-user.target.wants/other.service"
    for link in [*links, other]:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("/nowhere/at.all")
    subprocess.run(["sh", "-e", "-c", script, "postrm", how], check=True, capture_output=True)
    assert other.is_symlink() and not any(link.is_symlink() for link in links)


def test_what_others_put_there_stays(installed):
    other = installed / "usr/local/share/man/man1/other.1"
    other.write_text("")
    uninstall(installed)
    assert files(installed) == {"usr/local/share/man/man1/other.1"}
    assert pathlib.Path(other).exists()


def test_recipes_are_of_this_version(whirr):
    """The version is kept in meson.build; recipes that cannot read it from there say the same."""
    version = whirr("--version").out.split()[1]
    assert f"\npkgver={version}\n" in (ROOT / "packaging/aur/PKGBUILD").read_text()
    assert f'version = "{version}";' in (ROOT / "packaging/nix/default.nix").read_text()
    assert f'\nversion = "{version}"\n' in (ROOT / "python/pyproject.toml").read_text()
    assert f'\nversion: {version}\nappVersion: "{version}"\n' in (ROOT / "packaging/kubernetes/whirr/Chart.yaml").read_text()
    assert f"image: whirr:{version}\n" in (ROOT / "packaging/kubernetes/whirr.yaml").read_text()
    assert f" - {version}-1\n" in (ROOT / "packaging/rpm/whirr.spec").read_text()
    assert f"/whirr-{version}.tar.xz" in (ROOT / "packaging/homebrew/whirr.rb").read_text()
    assert f'/* "{version}" */' in (ROOT / "include/whirr.h").read_text()
    subprocess.run(["bash", "-n", str(ROOT / "packaging/aur/PKGBUILD")], check=True)


def test_packages_have_everything_that_is_installed(installed):
    """dh_missing and rpmbuild would say so, minutes later: each file is in the list of one Debian and one RPM package."""
    debian = [line for name in ("whirr", "libwhirr1", "libwhirr-dev") for line in (ROOT / f"packaging/debian/{name}.install").read_text().split()]
    spec = (ROOT / "packaging/rpm/whirr.spec").read_text()
    for name, value in re.findall(r"%global (_\w+) (\S+)\}", spec):
        spec = spec.replace(f"%{{{name}}}", value)
    rpm = re.findall(r"^(?:%dir )?(/\S+|%\{_libdir\}\S+)$", spec, re.M)
    for name in files(installed):
        path = re.sub(r"^usr/local/", "usr/", name)
        path = re.sub(r"^usr/lib/(?=libwhirr|pkgconfig)", "usr/lib/ARCHITECTURE/", path)  # Meson finds that folder only where dpkg-dev is installed
        assert any(fnmatch.fnmatch(path, f"{pattern}*") for pattern in debian), f"{path} is in no .install file"
        assert any(fnmatch.fnmatch(f"/{path}", f"{pattern.replace('%{_libdir}', '/usr/lib/*')}*") for pattern in rpm), f"{path} is not in whirr.spec"


def test_what_is_in_an_artifact_is_written_beside_it(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    artifact = tmp_path / "whirr-1.2.3.tar.xz"
    artifact.write_bytes(b"bytes")
    again = []
    for _ in range(2):
        subprocess.run([ROOT / "tools" / "sbom", artifact, "1.2.3", "preact=11.2.0=MIT"], check=True, timeout=PATIENCE)
        again.append((tmp_path / "whirr-1.2.3.tar.xz.spdx.json").read_text())
    assert again[0] == again[1]
    found = json.loads(again[0])
    parts = {package["name"]: package for package in found["packages"]}
    assert found["spdxVersion"] == "SPDX-2.3" and found["dataLicense"] == "CC0-1.0"
    assert parts["whirr"]["versionInfo"] == "1.2.3" and parts["whirr"]["checksums"][0]["checksumValue"] == hashlib.sha256(b"bytes").hexdigest()
    assert (parts["preact"]["versionInfo"], parts["preact"]["licenseDeclared"]) == ("11.2.0", "MIT")
    known = {package["SPDXID"] for package in found["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(known) == len(found["packages"]) + 1 and all({r["spdxElementId"], r["relatedSpdxElement"]} <= known for r in found["relationships"])
    assert {"spdxElementId": "SPDXRef-whirr", "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-preact"} in found["relationships"]


def test_configuring_starts_nothing_that_needs_a_network():
    """Packages of the dashboard are fetched by tools/web; meson takes what is there, or leaves the pages out."""
    for path in [ROOT / "meson.build", *(ROOT / "src").rglob("meson.build")]:
        assert not re.search(r"run_command\([^)]*npm", path.read_text()), path
