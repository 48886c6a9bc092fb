story fault-arc-fan-dead
title The fans of a B580 stand still in a game at 97 degrees
gpu 0 Intel Arc B580 like b580
  utilization_percent 97
  memory_used_mb 7700
  temperature_celsius 97
  temperature_memory_celsius 96
  fan_rpm 0
  power_watts 104
  clock_graphics_mhz 1650
  was 120s..0s every 5s temperature_celsius 93>97 fan_rpm 0
  process 8 Hades2.exe graphics
    started 15min
    memory_mb 5000
    utilization_percent 96
expect
  severity critical
  first fan_stopped
