story calm-laptop-4070-browser
title A laptop on its charger, the discrete GPU at rest with a browser's context on it
gpu 0 NVIDIA GeForce RTX 4070 Laptop GPU like laptop4070
  memory_used_mb 90
  was 300s..0s every 10s power_watts 9 temperature_celsius 45
  process 19 firefox graphics
    user eva
    started 3h
    memory_mb 60
gpu 1 Intel UHD Graphics 770 like uhd
  was 300s..0s every 10s utilization_percent 2~5
expect
  severity info
  never fan_stopped
  never pcie_link
