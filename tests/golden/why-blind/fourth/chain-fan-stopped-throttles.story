story chain-fan-stopped-throttles
title The fan of a 3080 stands still in a game, and the card throttles
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  temperature_celsius 93
  fan_percent 0
  fan_target_percent 100
  power_watts 168
  clock_graphics_mhz 1080
  throttle_reasons software thermal slowdown
  was 120s..0s every 5s temperature_celsius 84>93 fan_percent 0 clock_graphics_mhz 1600>1080
  process 2201 Cyberpunk2077.exe graphics
    user ben
    started 50min
    memory_mb 7100
    utilization_percent 94
expect
  severity critical
  first fan_stopped
  leads 0
  gpu 0
  has heat_limit or hot
