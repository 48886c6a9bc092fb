story calm-training-at-stock-limit
title A 3090 at its own stock limit of 350 W: that is what it is for
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_watts 348
  clock_graphics_mhz 1695
  throttle_reasons power cap
  temperature_celsius 72
  fan_percent 60
  was 300s..0s every 5s power_watts 347~349
  process 31 python3 compute
    command python3 train.py
    started 6h
    memory_mb 19800
    utilization_percent 98
expect
  calm yes
  first compute_load or power_limit
