story calm-amd-hotspot-95
title A 9070 XT in a game with a hot spot of 88 degrees and a memory of 86: as designed
gpu 0 AMD Radeon RX 9070 XT like rx9070xt
  utilization_percent 99
  memory_utilization_percent 61
  memory_used_mb 12400
  temperature_celsius 61
  temperature_hotspot_celsius 88
  temperature_memory_celsius 86
  fan_percent 40
  fan_rpm 1350
  power_watts 303
  clock_graphics_mhz 2890
  clock_memory_mhz 1258
  was 300s..0s every 5s temperature_hotspot_celsius 87~88
  process 61 hogwarts.exe graphics
    started 50min
    memory_mb 11200
    utilization_percent 98
expect
  calm yes
  first graphics_load or power_limit
