story chain-dock-of-generation-1
title A 4090 in an external box that stays at generation 1: copies take all of its link
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  utilization_percent 44
  memory_utilization_percent 9
  memory_used_mb 17000
  performance_state 2
  clock_graphics_mhz 2715
  clock_memory_mhz 10251
  power_watts 128
  temperature_celsius 47
  fan_percent 30
  throttle_reasons none
  pcie_generation 1
  pcie_width 4
  pcie_rx_bytes_per_second 780000000
  pcie_tx_bytes_per_second 20000000
  was 180s..0s every 5s utilization_percent 41~46
  process 71 python3 compute
    user noa
    command python3 offload_generate.py
    started 40min
    memory_mb 16500
    utilization_percent 44
expect
  severity warning
  first pcie_link
  leads 0
  gpu 0
  has copies
