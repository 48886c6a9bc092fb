story calm-a4-in-x8-slot
title A 4060-like card with eight lanes of its own in any slot
gpu 0 NVIDIA GeForce RTX 4070 Ti like rtx4070ti
  pcie_width 8
  pcie_width_max 8
  utilization_percent 55
  power_watts 144
  clock_graphics_mhz 2745
  clock_memory_mhz 10501
  performance_state 0
  memory_used_mb 6000
  temperature_celsius 55
  fan_percent 32
  pcie_generation 4
  throttle_reasons none
  was 120s..0s every 5s utilization_percent 52~58
  process 9 factorio graphics
    started 3h
    memory_mb 4000
    utilization_percent 53
expect
  calm yes
  first graphics_load
