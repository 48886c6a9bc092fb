story calm-apu-game-hot
title A game on an APU at 88 degrees, which its firmware allows
host cpu_percent 38
host cpu_temperature_celsius 88
gpu 0 AMD Radeon 680M like apu680m
  utilization_percent 98
  temperature_celsius 88
  power_watts 31
  clock_graphics_mhz 2100
  memory_used_mb 480
  gtt_used_mb 4100
  was 300s..0s every 5s temperature_celsius 87~88
  process 5 Stardew graphics
    started 30min
    utilization_percent 96
expect
  calm yes
  first graphics_load
