story chain-quota-of-one-rank
title Four H100s train together; the container of one rank has a CPU quota of one core
gpu 0 NVIDIA H100 80GB HBM3 like h100-wait
  was 240s..0s every 5s utilization_percent 100 power_watts 124
  process 900 python3 compute
    user lena
    command torchrun train.py
    container rank-0
    started 2h
    memory_mb 70800
    job 17
    rank 0
    world_size 4
    utilization_percent 100
gpu 1 NVIDIA H100 80GB HBM3 like h100-wait
  utilization_percent 18
  graphics_active_percent 17
  sm_active_percent 14
  tensor_active_percent 6
  power_watts 168
  temperature_celsius 39
  was 240s..0s every 5s utilization_percent 16~20
  process 901 python3 compute
    user lena
    command torchrun train.py
    container rank-1
    started 2h
    memory_mb 70800
    job 17
    rank 1
    world_size 4
    utilization_percent 17
    evidence main_running_percent 97
    evidence main_cpu_percent 61
    evidence busiest_thread_percent 61
    evidence cpu_percent 99
    evidence quota_cores 1
    evidence throttled_percent 78
    evidence cpu_pressure_percent 80
gpu 2 NVIDIA H100 80GB HBM3 like h100-wait
  was 240s..0s every 5s utilization_percent 100 power_watts 124
  process 902 python3 compute
    user lena
    command torchrun train.py
    container rank-2
    started 2h
    memory_mb 70800
    job 17
    rank 2
    world_size 4
    utilization_percent 100
gpu 3 NVIDIA H100 80GB HBM3 like h100-wait
  was 240s..0s every 5s utilization_percent 100 power_watts 124
  process 903 python3 compute
    user lena
    command torchrun train.py
    container rank-3
    started 2h
    memory_mb 70800
    job 17
    rank 3
    world_size 4
    utilization_percent 100
expect
  severity notice or warning
  first straggler or cpu_quota
  leads 1
  gpu 1
  has cpu_quota
