story calm-first-minute-of-a-training
title A training began 40 seconds ago on an H200: memory grows, clocks go up
gpu 0 NVIDIA H200 like h200-train
  memory_used_mb 61000
  power_watts 540
  temperature_celsius 52
  was 300s..41s every 5s utilization_percent 0 memory_used_mb 0 power_watts 77 temperature_celsius 30 sm_active_percent 0 tensor_active_percent 0 dram_active_percent 0 graphics_active_percent 0 clock_graphics_mhz 345
  was 40s..0s every 2s utilization_percent 30>99 memory_used_mb 4000>61000 power_watts 180>540 temperature_celsius 31>52
  process 1001 python3 compute
    user ana
    command python3 train.py
    started 40s
    memory_mb 60500
    utilization_percent 99
expect
  severity info
  never vram_full_soon
  never throttle_soon
