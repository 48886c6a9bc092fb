story calm-three-displays-4080
title Three displays at 144 Hz keep the memory clock of a 4080 up
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080
  utilization_percent 4
  power_watts 44
  performance_state 0
  clock_graphics_mhz 900
  clock_memory_mhz 11201
  temperature_celsius 46
  throttle_reasons none
  pcie_generation 4
  was 300s..0s every 5s power_watts 43~45
  process 1800 kwin_wayland graphics
    started 5h
    memory_mb 420
    utilization_percent 3
expect
  severity info
