story calm-radeon-two-displays
title Two unequal displays pin the memory clock of a Radeon
gpu 0 AMD Radeon RX 9070 XT like rx9070xt
  utilization_percent 2
  power_watts 42
  clock_memory_mhz 1258
  temperature_celsius 47
  temperature_hotspot_celsius 49
  temperature_memory_celsius 62
  was 300s..0s every 5s power_watts 41~43
expect
  severity info
