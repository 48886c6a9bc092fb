# SPDX-License-Identifier: Apache-2.0
# NixOS: imports = [ ./whirr/packaging/nix/module.nix ]; services.whirr.enable = true;
{ config, lib, pkgs, ... }:
let
  cfg = config.services.whirr;
  toml = pkgs.formats.toml { };
in
{
  options.services.whirr = {
    enable = lib.mkEnableOption "the daemon of whirr";
    package = lib.mkOption {
      type = lib.types.package;
      default = import ./. { inherit pkgs; };
      description = "The package to use.";
    };
    settings = lib.mkOption {
      type = toml.type;
      default = { };
      description = "What whirr.toml(5) has. It is readable by everyone: tokens and passwords go into another file.";
    };
  };
  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    environment.etc."whirr/whirr.toml" = lib.mkIf (cfg.settings != { }) { source = toml.generate "whirr.toml" cfg.settings; };
    # The unit, the user, its groups and its directories, as all other packages install them.
    systemd.packages = [ cfg.package ];
    systemd.generators.whirr-kernel-log = "${cfg.package}/lib/systemd/system-generators/whirr-kernel-log";
    systemd.tmpfiles.packages = [ cfg.package ];
    systemd.services.whirr.wantedBy = [ "multi-user.target" ];
    users.groups.whirr = { };
    users.groups.whirr-control = { };
    users.users.whirr = {
      isSystemUser = true;
      group = "whirr";
      extraGroups = [ "video" "render" ];
      home = "/var/lib/whirr";
    };
  };
}
