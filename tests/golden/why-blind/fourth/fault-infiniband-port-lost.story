story fault-infiniband-port-lost
title An InfiniBand port of a training node lost its link
host infiniband_ports_up 7
host infiniband_ports_lost 1
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 0
    world_size 2
    utilization_percent 99
gpu 1 NVIDIA H100 80GB HBM3 like h100-train
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 70800
    job 4100
    rank 1
    world_size 2
    utilization_percent 99
expect
  severity warning
  first infiniband
