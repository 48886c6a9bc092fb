story fault-gen1-under-load
title A 4090 stays at PCIe generation 1 while it trains
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  pcie_generation 1
  utilization_percent 71
  power_watts 290
  pcie_rx_bytes_per_second 3300000000
  was 120s..0s every 5s utilization_percent 70~73
  process 44 python3 compute
    started 2h
    memory_mb 20000
    utilization_percent 70
expect
  severity warning
  first pcie_link
