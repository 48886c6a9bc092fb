story chain-fan-stopped-straggler
title Four ranks on 3090s, the fan of one stands still: it is hot, slow, and the others wait
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_watts 176
  temperature_celsius 58
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 19800
    job 4100
    rank 0
    world_size 4
    utilization_percent 97
gpu 1 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_watts 171
  temperature_celsius 57
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 19800
    job 4100
    rank 1
    world_size 4
    utilization_percent 97
gpu 2 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 92
  fan_percent 0
  fan_target_percent 100
  power_watts 148
  clock_graphics_mhz 765
  throttle_reasons software thermal slowdown
  was 180s..0s every 5s temperature_celsius 91~92~92 clock_graphics_mhz 795~765~750
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 19800
    job 4100
    rank 2
    world_size 4
    utilization_percent 97
gpu 3 NVIDIA GeForce RTX 3090 like rtx3090-train
  power_watts 169
  temperature_celsius 56
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 19800
    job 4100
    rank 3
    world_size 4
    utilization_percent 97
expect
  severity critical
  first fan_stopped
  leads 2
  gpu 2
  has heat_limit or hot
