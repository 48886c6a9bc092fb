story fault-limit-left-low
title Somebody left a 3090 at 120 of 350 W, and it trains at half speed
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_limit_watts 120
  power_watts 119
  clock_graphics_mhz 660
  temperature_celsius 46
  fan_percent 30
  throttle_reasons power cap
  was 300s..0s every 5s power_watts 118~120
  process 14 python3 compute
    started 5h
    memory_mb 19900
    utilization_percent 98
expect
  severity notice or warning
  first power_limit or clocks_low
  gpu 0
  has power_limit
