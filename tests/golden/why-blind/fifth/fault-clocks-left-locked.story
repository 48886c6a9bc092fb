story fault-clocks-left-locked
title Somebody locked the clocks of a 3090 at 900 MHz and forgot it; the driver gives no reason
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  clock_graphics_mhz 900
  power_watts 171
  temperature_celsius 53
  fan_percent 38
  was 900s..0s every 5s clock_graphics_mhz 900 power_watts 171~169
  process 15 python3 compute
    user ana
    command python3 finetune.py
    started 9h
    memory_mb 19600
    utilization_percent 98
expect
  severity notice or warning
  first clocks_low
