story fault-h200-two-links-down
title Eight H200s train; one has lost two of its 18 links
gpu 0 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5000 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 0
    world_size 8
    utilization_percent 99
gpu 1 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5001 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 1
    world_size 8
    utilization_percent 99
gpu 2 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5002 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 2
    world_size 8
    utilization_percent 99
gpu 3 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5003 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 3
    world_size 8
    utilization_percent 99
gpu 4 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5004 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 4
    world_size 8
    utilization_percent 99
gpu 5 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5005 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 5
    world_size 8
    utilization_percent 99
gpu 6 NVIDIA H200 like h200-train
  nvlink_links_active 16
  was 120s..0s every 5s utilization_percent 99
  process 5006 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 6
    world_size 8
    utilization_percent 99
gpu 7 NVIDIA H200 like h200-train
  was 120s..0s every 5s utilization_percent 99
  process 5007 python3 compute
    user lena
    command torchrun train.py
    started 20h
    memory_mb 120000
    job 9
    rank 7
    world_size 8
    utilization_percent 99
expect
  severity warning
  first nvlink
  leads 6
