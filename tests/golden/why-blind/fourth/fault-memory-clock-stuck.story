story fault-memory-clock-stuck
title The memory clock stays at 405 MHz while the chip works
gpu 0 NVIDIA GeForce RTX 4070 Ti like rtx4070ti
  utilization_percent 99
  memory_utilization_percent 100
  memory_used_mb 9000
  temperature_celsius 45
  fan_percent 30
  power_watts 78
  performance_state 8
  clock_graphics_mhz 2610
  clock_memory_mhz 405
  throttle_reasons none
  was 300s..0s every 5s clock_memory_mhz 405
  process 9 llama-server compute
    started 3h
    memory_mb 8700
    utilization_percent 99
expect
  severity notice or warning
  first clocks_low
