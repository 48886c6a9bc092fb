story time-straggler-for-five-minutes
title A rank has been at half its clock for five minutes, before that all were equal
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 0
    world_size 4
    utilization_percent 98
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 1
    world_size 4
    utilization_percent 98
gpu 2 NVIDIA A100-SXM4-80GB like a100-train
  clock_graphics_mhz 690
  power_watts 190
  temperature_celsius 84
  temperature_memory_celsius 94
  throttle_reasons software thermal slowdown
  was 900s..301s every 10s clock_graphics_mhz 1410 power_watts 361 throttle_reasons none temperature_celsius 60
  was 300s..0s every 5s clock_graphics_mhz 690~705 power_watts 190 temperature_celsius 83~84
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 2
    world_size 4
    utilization_percent 98
gpu 3 NVIDIA A100-SXM4-80GB like a100-train
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 64000
    job 4100
    rank 3
    world_size 4
    utilization_percent 98
expect
  severity warning or critical
  first heat_limit or airflow or memory_hot
  leads 2
