story calm-old-gtx1070-blower
title A GTX 1070 in a game at 82 degrees, which is its target
gpu 0 NVIDIA GeForce GTX 1070 like gtx1070
  utilization_percent 98
  memory_used_mb 5200
  temperature_celsius 82
  fan_percent 58
  power_watts 148
  performance_state 0
  clock_graphics_mhz 1721
  clock_memory_mhz 3802
  throttle_reasons power cap
  pcie_generation 3
  was 600s..0s every 5s temperature_celsius 82
  process 4 csgo_linux64 graphics
    started 90min
    memory_mb 3900
    utilization_percent 96
expect
  calm yes
  first graphics_load or power_limit
