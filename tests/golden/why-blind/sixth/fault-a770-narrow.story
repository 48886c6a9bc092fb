story fault-a770-narrow
title An A770 in a game sits in a slot that negotiated x2 of 16
gpu 0 Intel Arc A770 like a770
  utilization_percent 88
  memory_used_mb 9800
  temperature_celsius 69
  fan_rpm 1800
  power_watts 168
  clock_graphics_mhz 2300
  pcie_width 2
  was 240s..0s every 5s utilization_percent 85~91
  process 55 Cyberpunk2077.exe graphics
    user tom
    started 30min
    memory_mb 9000
    utilization_percent 88
expect
  severity notice or warning
  first pcie_link
