story calm-limit-at-80-percent
title An owner runs his 3090 at 280 of 350 W for silence, with little loss
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_limit_watts 280
  power_watts 278
  clock_graphics_mhz 1590
  throttle_reasons power cap
  temperature_celsius 63
  fan_percent 48
  was 600s..0s every 5s power_watts 277~279
  process 31 python3 compute
    command python3 train.py
    started 6h
    memory_mb 19800
    utilization_percent 98
expect
  severity info
  first compute_load or power_limit
