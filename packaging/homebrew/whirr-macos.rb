# SPDX-License-Identifier: Apache-2.0
# Template: tools/package macos writes it to dist/ with the checksums of the tarballs.
class WhirrMacos < Formula
  desc "GPU monitor: this Mac, and other hosts from here"
  homepage "https://whirr.invalid"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :macos

  on_arm do
    url "https://whirr.invalid/whirr-@VERSION@-macos-arm64.tar.xz"
    sha256 "@SHA256_arm64@"
  end
  on_intel do
    url "https://whirr.invalid/whirr-@VERSION@-macos-x86_64.tar.xz"
    sha256 "@SHA256_x86_64@"
  end

  def install
    bin.install "bin/whirr"
    lib.install Dir["lib/*"]
    include.install Dir["include/*"]
  end

  service do
    run [opt_bin/"whirr", "serve"]
    keep_alive crashed: true
    log_path var/"log/whirr.log"
    error_log_path var/"log/whirr.log"
  end

  test do
    assert_match "whirr #{version}", shell_output("#{bin}/whirr --version")
    assert_match "GPU 0", shell_output("#{bin}/whirr --source sim why")
  end
end
