story time-fans-not-yet-needed
title A game began 25 seconds ago; the fans of a 3080 are still at rest at 54 degrees
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  temperature_celsius 54
  fan_percent 0
  power_watts 281
  was 24s..0s every 2s temperature_celsius 38>54 fan_percent 0 utilization_percent 90~96
  was 120s..25s every 5s utilization_percent 1 power_watts 24 temperature_celsius 37 fan_percent 0 performance_state 8 clock_graphics_mhz 210 clock_memory_mhz 405
  process 8 doom.exe graphics
    started 25s
    memory_mb 6900
    utilization_percent 95
expect
  calm yes
  first graphics_load
