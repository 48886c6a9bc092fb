story fault-hotspot-contact
title A 9070 XT with a badly seated cooler: 43 degrees between hot spot and edge
gpu 0 AMD Radeon RX 9070 XT like rx9070xt
  utilization_percent 99
  memory_utilization_percent 50
  memory_used_mb 11000
  temperature_celsius 64
  temperature_hotspot_celsius 107
  temperature_memory_celsius 82
  fan_percent 62
  fan_rpm 2100
  power_watts 296
  clock_graphics_mhz 2800
  clock_memory_mhz 1258
  was 300s..0s every 5s temperature_hotspot_celsius 106~107
  process 5 Alan_Wake.exe graphics
    started 45min
    memory_mb 10000
    utilization_percent 98
expect
  severity notice or warning
  first hotspot
