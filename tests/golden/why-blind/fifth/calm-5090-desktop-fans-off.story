story calm-5090-desktop-fans-off
title A 5090 shows a desktop on one 4K display, its fans at rest
gpu 0 NVIDIA GeForce RTX 5090 like rtx5090
  utilization_percent 3
  memory_used_mb 1150
  power_watts 33
  temperature_celsius 44
  fan_percent 0
  was 300s..0s every 5s power_watts 31~35~33 utilization_percent 1~5~2
  process 91 gnome-shell graphics
    started 9h
    memory_mb 420
  process 92 firefox graphics
    started 4h
    memory_mb 390
expect
  calm yes
