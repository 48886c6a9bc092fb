story calm-a6000-blender
title Blender renders on an A6000 at its power limit, loud as blowers are
gpu 0 NVIDIA RTX A6000 like rtxa6000
  utilization_percent 100
  memory_utilization_percent 30
  memory_used_mb 18800
  temperature_celsius 77
  fan_percent 58
  power_watts 298
  performance_state 2
  clock_graphics_mhz 1770
  clock_memory_mhz 7601
  throttle_reasons power cap
  pcie_generation 4
  was 300s..0s every 5s power_watts 298~299 temperature_celsius 77
  process 70 blender compute
    user ida
    command blender -b scene.blend -a
    started 40min
    memory_mb 18200
    utilization_percent 100
expect
  severity info
  first compute_load or graphics_load
  pid 70
