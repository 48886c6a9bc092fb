story time-power-limit-lowered-while-it-runs
title Two minutes ago somebody lowered the limit of a 4090 from 450 to 200 W
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  power_limit_watts 200
  power_watts 199
  clock_graphics_mhz 1680
  temperature_celsius 51
  throttle_reasons power cap
  was 600s..121s every 5s power_limit_watts 450 power_watts 402 clock_graphics_mhz 2640 throttle_reasons none temperature_celsius 64
  was 120s..0s every 5s power_watts 199~200
  process 5 python3 compute
    started 2h
    memory_mb 20000
    utilization_percent 99
expect
  severity info or notice or warning
  first power_limit or clocks_low
  gpu 0
  has power_limit
