story calm-remote-desktop-t4-like
title A remote desktop encodes its screen on an L4
gpu 0 NVIDIA L4 like l4
  utilization_percent 9
  encoder_percent 14
  memory_used_mb 900
  power_watts 29
  performance_state 0
  clock_graphics_mhz 2040
  clock_memory_mhz 6250
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 43
  process 50 Xorg graphics
    started 50h
    memory_mb 160
    utilization_percent 5
  process 51 nxnode.bin graphics
    started 50h
    memory_mb 420
    utilization_percent 3
    encoder_percent 14
expect
  calm yes
