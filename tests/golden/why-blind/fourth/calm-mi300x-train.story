story calm-mi300x-train
title Eight MI300X train; their driver gives no edge temperature and no throttle reasons
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
  power_watts 728
  clock_graphics_mhz 1790
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
  temperature_hotspot_celsius 84
  power_watts 701
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
  calm yes
  first compute_load or power_limit
