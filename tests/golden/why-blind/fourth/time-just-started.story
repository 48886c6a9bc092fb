story time-just-started
title A program that began four seconds ago: the card is still at rest
gpu 0 NVIDIA A100-SXM4-80GB like a100
  memory_used_mb 430
  power_watts 62
  clock_graphics_mhz 1410
  throttle_reasons none
  was 60s..5s every 1s memory_used_mb 0 clock_graphics_mhz 210 power_watts 57
  was 4s..0s every 1s memory_used_mb 430
  process 99 python3 compute
    user eva
    command python3 train.py
    started 4s
    memory_mb 420
    utilization_percent 0
expect
  calm yes
