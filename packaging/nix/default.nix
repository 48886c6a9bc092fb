# SPDX-License-Identifier: Apache-2.0
# nix-build packaging/nix, in an unpacked release (web/dist is ready there); module.nix is the service for NixOS. `make release-check` evaluates it, but doesn't build it.
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "whirr";
  version = "0.3.0";
  src = ../..;
  nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 scdoc ];
  buildInputs = with pkgs; [ curl jansson libevent ncurses openssl sqlite zlib ];
  mesonFlags = [ "-Dweb=enabled" "-Dapi_page=enabled" "-Dtests=disabled" ];
  # Loaded when they are needed, by name: NVML and CUDA come from the driver of the host.
  postFixup = ''
    for file in $out/bin/whirr $out/bin/whirr-control $out/lib/libwhirr.so.1; do
      patchelf --add-rpath "${pkgs.lib.makeLibraryPath (with pkgs; [ curl ncurses openssl sqlite zlib libpq systemd ])}:/run/opengl-driver/lib" "$(readlink -f "$file")"
    done
  '';
  meta = {
    description = "GPU monitor and guard for NVIDIA, AMD and Intel";
    homepage = "https://whirr.invalid";
    license = with pkgs.lib.licenses; [ asl20 mit ];
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "whirr";
  };
}
