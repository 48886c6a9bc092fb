story fault-xid-31-of-a-program
title A program touched memory that it did not own (XID 31); the GPU is fine
gpu 0 NVIDIA A100-SXM4-80GB like a100
  log 90s NVRM: Xid (PCI:0000:10:00): 31, pid=505, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS
  was 120s..0s every 5s power_watts 57
expect
  severity notice or warning
  first xid
