story chain-link-x4-straggler
title One of eight H100s came up with four lanes: its rank is late
gpu 0 NVIDIA H100 80GB HBM3 like h100-wait
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 0
    world_size 8
    utilization_percent 100
gpu 1 NVIDIA H100 80GB HBM3 like h100-wait
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 1
    world_size 8
    utilization_percent 100
gpu 2 NVIDIA H100 80GB HBM3 like h100-wait
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 2
    world_size 8
    utilization_percent 100
gpu 3 NVIDIA H100 80GB HBM3 like h100-wait
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 3
    world_size 8
    utilization_percent 100
gpu 4 NVIDIA H100 80GB HBM3 like h100-wait
  process 6004 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 4
    world_size 8
    utilization_percent 100
gpu 5 NVIDIA H100 80GB HBM3 like h100-wait
  utilization_percent 62
  graphics_active_percent 58
  sm_active_percent 51
  power_watts 430
  temperature_celsius 52
  pcie_width 4
  pcie_rx_bytes_per_second 12900000000
  was 120s..0s every 5s utilization_percent 60~64~62
  process 6005 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 5
    world_size 8
    utilization_percent 100
gpu 6 NVIDIA H100 80GB HBM3 like h100-wait
  process 6006 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 6
    world_size 8
    utilization_percent 100
gpu 7 NVIDIA H100 80GB HBM3 like h100-wait
  process 6007 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 7
    world_size 8
    utilization_percent 100
expect
  severity warning
  first pcie_link
  leads 5
