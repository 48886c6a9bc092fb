story chain-battery-clocks
title A laptop on battery: the game's GPU stays at a third of its clock
host on_battery 1
host cpu_temperature_celsius 61
gpu 0 NVIDIA GeForce RTX 4070 Laptop GPU like laptop4070
  utilization_percent 97
  memory_used_mb 5600
  temperature_celsius 58
  power_watts 34
  power_limit_watts 35
  power_limit_default_watts 80
  performance_state 2
  clock_graphics_mhz 1020
  clock_memory_mhz 8001
  throttle_reasons power cap
  pcie_generation 4
  was 300s..0s every 5s clock_graphics_mhz 1020~1050~990
  process 55 witcher3.exe graphics
    started 12min
    memory_mb 5300
    utilization_percent 96
expect
  severity notice or warning
  first on_battery
  gpu 0
  has clocks_low or power_limit
