# SPDX-License-Identifier: Apache-2.0
# nix-build packaging/nix, in an unpacked release (web/dist is ready there). `make release-check` evaluates it, but doesn't build it.
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "whirr";
  version = "0.2.0";
  src = ../..;
  nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 scdoc ];
  buildInputs = with pkgs; [ curl jansson libevent ncurses openssl sqlite zlib ];
  mesonFlags = [ "-Dweb=enabled" "-Dapi_page=enabled" "-Dtests=disabled" ];
  # Loaded when they are needed, by name: NVML and CUDA come from the driver of the host.
  postFixup = ''
    patchelf --add-rpath "${pkgs.lib.makeLibraryPath (with pkgs; [ curl ncurses openssl sqlite zlib libpq systemd ])}:/run/opengl-driver/lib" $out/bin/whirr
  '';
  meta = {
    description = "GPU monitor and guard for NVIDIA, AMD and Intel";
    license = with pkgs.lib.licenses; [ asl20 mit ];
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "whirr";
  };
}
