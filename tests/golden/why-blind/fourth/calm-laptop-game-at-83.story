story calm-laptop-game-at-83
title A gaming laptop at 83 degrees with a limit at 87
host cpu_temperature_celsius 84
gpu 0 NVIDIA GeForce RTX 3060 Laptop GPU like laptop3060
  utilization_percent 97
  memory_used_mb 4900
  temperature_celsius 83
  power_watts 94
  power_limit_watts 95
  performance_state 0
  clock_graphics_mhz 1680
  clock_memory_mhz 7001
  throttle_reasons power cap
  pcie_generation 4
  was 600s..0s every 5s temperature_celsius 82~83
  process 77 GTA5.exe graphics
    started 55min
    memory_mb 4600
    utilization_percent 96
expect
  calm yes
  first graphics_load or power_limit
