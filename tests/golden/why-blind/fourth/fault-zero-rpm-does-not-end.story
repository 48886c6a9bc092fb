story fault-zero-rpm-does-not-end
title A 6800 XT is at 97 degrees in a game, and its fan never left zero
gpu 0 AMD Radeon RX 6800 XT like rx6800xt-game
  temperature_celsius 97
  temperature_hotspot_celsius 109
  temperature_memory_celsius 94
  fan_percent 0
  fan_rpm 0
  fan_zero_rpm 1
  power_watts 150
  clock_graphics_mhz 1210
  was 180s..0s every 5s fan_rpm 0 temperature_celsius 93>97
  process 15 hl2.exe graphics
    started 30min
    memory_mb 3000
    utilization_percent 98
expect
  severity critical
  first fan_stopped
