story time-link-narrowed-when-warm
title A riser lost lanes two minutes ago: x16 became x4 while a program works
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  pcie_width 4
  was 600s..121s every 5s pcie_width 16
  was 120s..0s every 5s pcie_width 4
  process 21 python3 compute
    user max
    command python3 upscale.py
    started 2h
    memory_mb 7000
    utilization_percent 96
expect
  severity notice or warning
  first pcie_link
