story fault-b580-in-a-x1-slot
title A B580 in a slot with one lane, at work
gpu 0 Intel Arc B580 like b580
  utilization_percent 71
  memory_used_mb 8000
  temperature_celsius 58
  fan_rpm 1200
  power_watts 121
  clock_graphics_mhz 2800
  pcie_width 1
  was 180s..0s every 5s utilization_percent 66~75
  process 12 Hitman3.exe graphics
    started 20min
    memory_mb 7600
    utilization_percent 70
expect
  severity notice or warning
  first pcie_link
