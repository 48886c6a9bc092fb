story chain-riser-one-lane-waits
title A 3060 on a mining riser: one lane, so training waits for its copies
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  utilization_percent 34
  power_watts 71
  temperature_celsius 51
  fan_percent 30
  pcie_width 1
  pcie_generation 3
  pcie_generation_max 3
  pcie_rx_bytes_per_second 870000000
  was 120s..0s every 5s utilization_percent 30~36~33 power_watts 69~73~70
  process 410 python3 compute
    user mia
    command python3 train_unet.py
    started 40min
    memory_mb 9400
    utilization_percent 33
expect
  severity warning
  first pcie_link
  leads 0
