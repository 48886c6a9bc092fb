story time-replays-stopped
title Replays counted up until ten minutes ago, then the cable was seated again
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  pcie_replays 81000
  was 1500s..900s every 10s pcie_replays 60000>81000
  was 899s..0s every 10s pcie_replays 81000
  process 3 python3 compute
    started 5h
    memory_mb 19000
    utilization_percent 97
expect
  severity info or notice
