story calm-amd-zero-rpm-at-53
title A 6800 XT at 53 degrees with its fan off: zero-rpm mode
gpu 0 AMD Radeon RX 6800 XT like rx6800xt
  utilization_percent 8
  temperature_celsius 53
  temperature_hotspot_celsius 55
  temperature_memory_celsius 58
  power_watts 36
  clock_graphics_mhz 500
  clock_memory_mhz 1000
  was 300s..0s every 5s temperature_celsius 52~53
  process 1 kwin_wayland graphics
    started 9h
    memory_mb 300
    utilization_percent 6
expect
  calm yes
