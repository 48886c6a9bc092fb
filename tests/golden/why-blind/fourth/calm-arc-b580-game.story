story calm-arc-b580-game
title A B580 in a game
gpu 0 Intel Arc B580 like b580
  utilization_percent 98
  memory_used_mb 8300
  temperature_celsius 66
  temperature_memory_celsius 72
  fan_rpm 1450
  power_watts 168
  clock_graphics_mhz 2850
  was 300s..0s every 5s temperature_celsius 65~66
  process 31 bg3.exe graphics
    started 1h
    memory_mb 7700
    utilization_percent 97
expect
  calm yes
  first graphics_load
