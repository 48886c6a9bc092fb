story fault-stuck-in-p8
title After suspend a 4080 stays in P8: all busy at 210 MHz and 31 W
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080
  utilization_percent 100
  memory_used_mb 8000
  temperature_celsius 39
  power_watts 31
  throttle_reasons none
  was 300s..0s every 5s utilization_percent 100 clock_graphics_mhz 210
  process 88 python3 compute
    started 20min
    memory_mb 7500
    utilization_percent 100
expect
  severity warning
  first clocks_low
