story chain-application-clocks-straggler
title Application clocks of one rank were left at 705 MHz after a test
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
  clock_graphics_mhz 705
  clock_application_graphics_mhz 705
  clock_application_graphics_default_mhz 1410
  power_watts 186
  temperature_celsius 44
  throttle_reasons application clocks setting
  was 300s..0s every 5s clock_graphics_mhz 705
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
  severity notice or warning
  first clocks_low or straggler
  leads 1
