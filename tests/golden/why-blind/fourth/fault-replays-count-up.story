story fault-replays-count-up
title A long riser cable: the link sends hundreds of packets a minute again
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  pcie_replays 94210
  was 600s..0s every 10s pcie_replays 81000>94210
  process 3 python3 compute
    started 5h
    memory_mb 19000
    utilization_percent 97
expect
  severity notice or warning
  first pcie_replays
