story fault-application-clocks-low
title A 3060 computes at 900 of 2130 MHz although nothing throttles and it is cool
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  clock_graphics_mhz 900
  power_watts 71
  temperature_celsius 52
  fan_percent 33
  was 600s..0s every 10s clock_graphics_mhz 900 power_watts 71~69
  process 13 python3 compute
    user eva
    command python3 train.py
    started 4h
    memory_mb 9500
    utilization_percent 97
expect
  severity notice or warning
  first clocks_low
