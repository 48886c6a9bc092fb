story limit-bandwidth-decode
title Decoding one token after the other: memory bandwidth
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 100
  memory_utilization_percent 88
  graphics_active_percent 100
  sm_active_percent 84
  tensor_active_percent 3
  dram_active_percent 83
  memory_used_mb 70000
  power_watts 480
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 55
  was 60s..0s every 2s utilization_percent 100
  process 800 python3 compute
    user lena
    command python3 generate.py
    started 30min
    memory_mb 69500
    utilization_percent 100
expect
  severity info or notice
  first memory_traffic or compute_load
  pid 800
  gpu 0
  has memory_traffic
