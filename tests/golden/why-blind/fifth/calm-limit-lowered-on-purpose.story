story calm-limit-lowered-on-purpose
title A 3090 with its limit at 280 of 350 W for months, at that limit
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_limit_watts 280
  power_watts 279
  temperature_celsius 63
  fan_percent 51
  clock_graphics_mhz 1605
  throttle_reasons power cap
  was 900s..0s every 5s power_watts 279~280~278 clock_graphics_mhz 1605~1620
  process 44 python3 compute
    user ana
    command python3 train.py
    started 30h
    memory_mb 19900
    utilization_percent 98
expect
  calm yes
  first compute_load or power_limit
