story chain-one-limit-lowered-straggler
title One of eight H100s was left at 350 W by an experiment, so the others wait for it
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 0
    world_size 8
    utilization_percent 99
gpu 1 NVIDIA H100 80GB HBM3 like h100-train
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 1
    world_size 8
    utilization_percent 99
gpu 2 NVIDIA H100 80GB HBM3 like h100-train
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 2
    world_size 8
    utilization_percent 99
gpu 3 NVIDIA H100 80GB HBM3 like h100-train
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 3
    world_size 8
    utilization_percent 99
gpu 4 NVIDIA H100 80GB HBM3 like h100-train
  process 6004 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 4
    world_size 8
    utilization_percent 99
gpu 5 NVIDIA H100 80GB HBM3 like h100-train
  process 6005 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 5
    world_size 8
    utilization_percent 99
gpu 6 NVIDIA H100 80GB HBM3 like h100-train
  power_limit_watts 350
  power_watts 348
  clock_graphics_mhz 1215
  temperature_celsius 47
  throttle_reasons power cap
  was 300s..0s every 5s power_watts 348~350 clock_graphics_mhz 1215~1230
  process 6006 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 6
    world_size 8
    utilization_percent 99
gpu 7 NVIDIA H100 80GB HBM3 like h100-train
  process 6007 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 7
    world_size 8
    utilization_percent 99
expect
  severity notice or warning
  first power_limit or clocks_low or straggler
  leads 6
