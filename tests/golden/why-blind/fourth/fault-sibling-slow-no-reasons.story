story fault-sibling-slow-no-reasons
title One of eight MI300X runs at 900 MHz under the same work; its driver gives no reasons
gpu 0 AMD Instinct MI300X like mi300x-train
  process 6000 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 0
    world_size 8
gpu 1 AMD Instinct MI300X like mi300x-train
  process 6001 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 1
    world_size 8
gpu 2 AMD Instinct MI300X like mi300x-train
  process 6002 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 2
    world_size 8
gpu 3 AMD Instinct MI300X like mi300x-train
  process 6003 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 3
    world_size 8
gpu 4 AMD Instinct MI300X like mi300x-train
  clock_graphics_mhz 900
  power_watts 372
  temperature_hotspot_celsius 58
  was 300s..0s every 5s clock_graphics_mhz 905~898 power_watts 372
  process 6004 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 4
    world_size 8
gpu 5 AMD Instinct MI300X like mi300x-train
  process 6005 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 5
    world_size 8
gpu 6 AMD Instinct MI300X like mi300x-train
  process 6006 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 6
    world_size 8
gpu 7 AMD Instinct MI300X like mi300x-train
  process 6007 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 168000
    job 4100
    rank 7
    world_size 8
expect
  severity notice or warning
  first clocks_low or straggler
  leads 4
