# SPDX-License-Identifier: Apache-2.0
# Homebrew on Linux. `tools/package recipes` writes it to dist/ with the checksum of the release and its place there: brew install --formula dist/whirr.rb
class Whirr < Formula
  desc "GPU monitor and guard for NVIDIA, AMD and Intel"
  homepage "https://whirr.invalid"
  url "https://whirr.invalid/whirr-0.3.0.tar.xz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license all_of: ["Apache-2.0", "MIT"]

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "python@3.13" => :build
  depends_on "scdoc" => :build
  depends_on "curl"
  depends_on "jansson"
  depends_on "libevent"
  depends_on :linux
  depends_on "ncurses"
  depends_on "openssl@3"
  depends_on "sqlite"
  depends_on "zlib"

  def install
    # Libraries that are loaded when they are needed are found by the path in the program.
    libraries = %w[curl ncurses openssl@3 sqlite zlib].map { |name| Formula[name].opt_lib }
    ENV.append "LDFLAGS", libraries.map { |path| "-Wl,-rpath,#{path}" }.join(" ")
    system "meson", "setup", "build", "-Dweb=enabled", "-Dapi_page=enabled", "-Dtests=disabled", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  service do
    run [opt_bin/"whirr", "serve"]
    keep_alive true
  end

  test do
    assert_match "whirr #{version}", shell_output("#{bin}/whirr --version")
    assert_match "GPU 0", shell_output("#{bin}/whirr --source sim why")
  end
end
