story limit-another-program
title A game takes two thirds of the GPU from a training
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  was 60s..0s every 2s utilization_percent 99
  process 800 python3 compute
    user lena
    command python3 train.py
    started 5h
    memory_mb 12000
    utilization_percent 31
  process 801 Cyberpunk2077.exe graphics
    user ben
    started 20min
    memory_mb 8000
    utilization_percent 66
expect
  severity info or notice
  first shared_load
  pid 801 or none
