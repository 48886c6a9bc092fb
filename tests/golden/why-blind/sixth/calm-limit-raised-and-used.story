story calm-limit-raised-and-used
title A 3080 with a limit raised to 350 W, used in a game
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  power_limit_watts 350
  power_watts 338
  temperature_celsius 74
  fan_percent 69
  was 180s..0s every 5s power_watts 338~341
  process 31 witcher3.exe graphics
    user max
    started 70min
    memory_mb 7200
    utilization_percent 96
expect
  severity info
  first graphics_load
  pid 31
