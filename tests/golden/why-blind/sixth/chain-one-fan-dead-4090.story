story chain-one-fan-dead-4090
title One of three fans is dead on a 4090: its duty is at the maximum, it throttles, and the clock suffers
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  temperature_celsius 90
  fan_percent 100
  fan_rpm 900
  clock_graphics_mhz 1410
  power_watts 251
  throttle_reasons software thermal slowdown
  was 300s..0s every 5s temperature_celsius 90~89 fan_percent 100 fan_rpm 900~880 clock_graphics_mhz 1410~1455 power_watts 251~246
  process 301 python3 compute
    user ana
    command python3 finetune.py
    started 50min
    memory_mb 20000
    utilization_percent 99
expect
  severity warning or critical
  first fan_failing or heat_limit
  leads 0
  never nothing_unusual
