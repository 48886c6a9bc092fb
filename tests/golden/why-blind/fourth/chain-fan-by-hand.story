story chain-fan-by-hand
title Somebody set the fan to 30% for silence and then started a render
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  temperature_celsius 90
  fan_percent 30
  fan_control manual
  power_watts 189
  clock_graphics_mhz 1830
  throttle_reasons software thermal slowdown
  was 240s..0s every 5s temperature_celsius 89~90~90 clock_graphics_mhz 1845~1830
  process 71 blender compute
    started 30min
    memory_mb 9000
    utilization_percent 97
expect
  severity warning or critical
  first fan_by_hand
  gpu 0
  has heat_limit
