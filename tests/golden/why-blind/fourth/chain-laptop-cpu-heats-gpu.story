story chain-laptop-cpu-heats-gpu
title A build at 99 degrees CPU shares the cooler with a GPU that only draws the desktop and throttles
host cpu_percent 96
host cpu_temperature_celsius 99
host cpu_count 16
gpu 0 NVIDIA GeForce RTX 3060 Laptop GPU like laptop3060
  utilization_percent 14
  memory_used_mb 900
  temperature_celsius 86
  power_watts 24
  performance_state 5
  clock_graphics_mhz 420
  throttle_reasons software thermal slowdown
  was 120s..0s every 5s temperature_celsius 84>86
  process 1200 kwin_wayland graphics
    started 6h
    memory_mb 500
    utilization_percent 12
expect
  severity notice or warning
  first cpu_heat or heat_limit
  gpu 0
  has cpu_heat
