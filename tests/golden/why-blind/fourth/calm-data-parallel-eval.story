story calm-data-parallel-eval
title Four ranks with unequal batches: 91 to 99%, none is waiting
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 91
  power_watts 331
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 52000
    job 4100
    rank 0
    world_size 4
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 99
  power_watts 371
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 52000
    job 4100
    rank 1
    world_size 4
gpu 2 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 95
  power_watts 350
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 52000
    job 4100
    rank 2
    world_size 4
gpu 3 NVIDIA A100-SXM4-80GB like a100-train
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 52000
    job 4100
    rank 3
    world_size 4
expect
  calm yes
  first compute_load
