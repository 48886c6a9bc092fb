story fault-mismatch-after-update
title The driver was updated under a running system
source nvml failing Driver/library version mismatch: the kernel has 550.120, the library 550.144
expect
  severity warning or critical
  first driver_mismatch
