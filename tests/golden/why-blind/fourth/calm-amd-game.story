story calm-amd-game
title A 6800 XT in a game, hot spot 16 degrees above the edge
gpu 0 AMD Radeon RX 6800 XT like rx6800xt-game
  was 300s..0s every 5s utilization_percent 97~99
  process 6 witcher3.exe graphics
    started 2h
    memory_mb 8300
    utilization_percent 97
expect
  calm yes
  first graphics_load
