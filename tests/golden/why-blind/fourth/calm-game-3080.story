story calm-game-3080
title A game at full load with a fan that can be heard a little
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  temperature_celsius 69
  fan_percent 52
  was 600s..0s every 5s temperature_celsius 68~69 utilization_percent 95~98
  process 300 eldenring.exe graphics
    user ben
    started 70min
    memory_mb 6800
    utilization_percent 95
expect
  calm yes
  first graphics_load
  pid 300
