story fault-one-of-eight-lost
title One of eight GPUs of a node is gone, seven go on
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 0
    world_size 7
    utilization_percent 98
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 1
    world_size 7
    utilization_percent 98
gpu 2 NVIDIA A100-SXM4-80GB like a100-train
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 2
    world_size 7
    utilization_percent 98
gpu 3 NVIDIA A100-SXM4-80GB like a100-train
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 3
    world_size 7
    utilization_percent 98
gpu 4 NVIDIA A100-SXM4-80GB like a100-train
  process 6004 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 4
    world_size 7
    utilization_percent 98
gpu 5 NVIDIA A100-SXM4-80GB like a100-train
  process 6005 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 5
    world_size 7
    utilization_percent 98
gpu 6 NVIDIA A100-SXM4-80GB like a100-train
  process 6006 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 6
    world_size 7
    utilization_percent 98
gpu 7 NVIDIA A100-SXM4-80GB
  vendor nvidia
  state lost GPU is lost
expect
  severity critical
  first lost
  leads 7
