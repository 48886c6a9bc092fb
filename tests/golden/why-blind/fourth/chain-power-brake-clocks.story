story chain-power-brake-clocks
title A failed power supply of the server: power brake, and an A100 crawls at 300 MHz
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  power_watts 118
  clock_graphics_mhz 300
  throttle_reasons hardware slowdown, power brake
  temperature_celsius 44
  was 240s..0s every 5s clock_graphics_mhz 300 power_watts 118~121~116
  process 800 python3 compute
    command python3 pretrain.py
    started 20h
    memory_mb 65000
    utilization_percent 98
expect
  severity warning or critical
  first slowdown
  gpu 0
  has clocks_low
