story time-power-brake-is-over
title A power brake for five minutes; it ended four minutes ago
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  was 900s..541s every 5s clock_graphics_mhz 1410
  was 540s..241s every 5s clock_graphics_mhz 300 power_watts 118 throttle_reasons hardware_slowdown,power_brake
  was 240s..0s every 5s clock_graphics_mhz 1410 power_watts 362
  process 5 python3 compute
    command python3 pretrain.py
    started 20h
    memory_mb 65000
    utilization_percent 98
expect
  severity info or notice or warning
  first slowdown or compute_load
  has slowdown
