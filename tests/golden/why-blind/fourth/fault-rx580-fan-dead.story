story fault-rx580-fan-dead
title The fans of an RX 580 stand still at 91 degrees
gpu 0 AMD Radeon RX 580 Series like rx580
  utilization_percent 95
  memory_used_mb 4000
  temperature_celsius 91
  fan_percent 0
  fan_rpm 0
  power_watts 98
  clock_graphics_mhz 900
  clock_memory_mhz 2000
  pcie_generation 3
  was 60s..0s every 2s temperature_celsius 85>91 fan_rpm 0
  process 4 dota2 graphics
    started 25min
    memory_mb 2900
    utilization_percent 93
expect
  severity critical
  first fan_stopped
