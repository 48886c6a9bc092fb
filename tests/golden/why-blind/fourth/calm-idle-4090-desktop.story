story calm-idle-4090-desktop
title A desktop at rest with one display
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  utilization_percent 3
  was 300s..0s every 5s utilization_percent 1~4~2 power_watts 18~21
  process 1500 Xorg graphics
    started 20h
    memory_mb 210
    utilization_percent 2
expect
  calm yes
  first nothing_unusual or display
