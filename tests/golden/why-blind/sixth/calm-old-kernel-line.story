story calm-old-kernel-line
title The kernel said a day ago that a program made a fault; since then a new driver works
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060
  log 90000s NVRM: Xid (PCI:0000:10:00): 31, pid=505, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS
  was 300s..0s every 10s power_watts 12~13
expect
  severity info or notice
  never lost
  never driver_verdict
