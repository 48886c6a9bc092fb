story calm-training-h100x8
title Eight H100s train at 650 W each
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  temperature_celsius 64
  power_watts 671
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
  temperature_celsius 58
  clock_graphics_mhz 1875
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
  power_watts 642
  clock_graphics_mhz 1830
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
  calm yes
  first compute_load or power_limit
