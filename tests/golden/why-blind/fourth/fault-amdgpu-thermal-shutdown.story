story fault-amdgpu-thermal-shutdown
title amdgpu says that a card is over its temperature range
gpu 0 AMD Radeon RX 580 Series like rx580
  utilization_percent 92
  temperature_celsius 94
  fan_percent 100
  fan_rpm 3300
  power_watts 120
  clock_graphics_mhz 1100
  clock_memory_mhz 2000
  pcie_generation 3
  log 20s amdgpu 0000:10:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!
  was 60s..0s every 2s temperature_celsius 92>94
expect
  severity warning or critical
  first heat_limit or driver_fault or hot
