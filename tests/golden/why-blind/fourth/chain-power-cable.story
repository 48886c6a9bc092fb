story chain-power-cable
title A 4090 whose sense pins lost contact: the board holds it at 150 W
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  power_watts 149
  clock_graphics_mhz 1065
  throttle_reasons hardware slowdown, power brake
  temperature_celsius 47
  fan_percent 30
  was 600s..0s every 10s power_watts 149~147~150 clock_graphics_mhz 1065
  process 3131 blender compute
    command blender -b shot.blend -a
    started 1h
    memory_mb 11000
    utilization_percent 99
expect
  severity warning or critical
  first slowdown
  gpu 0
  has clocks_low
