story chain-nvlink-down-ranks-wait
title Six NVLinks of one A100 are down, and the collectives of its job crawl
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 0
    world_size 8
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 1
    world_size 8
gpu 2 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 2
    world_size 8
gpu 3 NVIDIA A100-SXM4-80GB like a100-train
  nvlink_links_active 6
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 3
    world_size 8
gpu 4 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6004 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 4
    world_size 8
gpu 5 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6005 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 5
    world_size 8
gpu 6 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6006 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 6
    world_size 8
gpu 7 NVIDIA A100-SXM4-80GB like a100-train
  utilization_percent 100
  power_watts 128
  temperature_celsius 39
  was 120s..0s every 5s power_watts 126~130
  process 6007 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 7
    world_size 8
expect
  severity warning
  first nvlink
  leads 3
