story time-xid-of-yesterday
title A program made an XID 13 three hours ago; the GPU has worked well since
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  log 10800s NVRM: Xid (PCI:0000:10:00): 13, pid=5521, name=python3, Graphics Exception: ESR 0x50c730=0x10009
  was 11000s..0s every 60s utilization_percent 99~98
  process 19 python3 compute
    user ana
    command python3 train.py
    started 2h
    memory_mb 20100
    utilization_percent 99
expect
  severity info or notice
