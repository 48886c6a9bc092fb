story chain-limit-of-one-of-four
title Four A100s train in lockstep; one was left with a limit of 150 W and the others wait for it
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 100
  memory_utilization_percent 9
  memory_used_mb 66000
  temperature_celsius 41
  power_watts 139
  clock_graphics_mhz 1410
  throttle_reasons none
  was 300s..0s every 5s power_watts 139~135
  process 610 python3 compute
    user mia
    command torchrun train.py
    started 5h
    memory_mb 65000
    job 12
    rank 0
    world_size 4
    utilization_percent 100
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  power_limit_watts 150
  power_watts 149
  temperature_celsius 43
  clock_graphics_mhz 690
  throttle_reasons power cap
  was 300s..0s every 5s power_watts 149~150 clock_graphics_mhz 690~675
  process 611 python3 compute
    user mia
    command torchrun train.py
    started 5h
    memory_mb 65000
    job 12
    rank 1
    world_size 4
    utilization_percent 100
gpu 2 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 100
  memory_utilization_percent 9
  memory_used_mb 66000
  temperature_celsius 41
  power_watts 139
  clock_graphics_mhz 1410
  throttle_reasons none
  was 300s..0s every 5s power_watts 139~135
  process 612 python3 compute
    user mia
    command torchrun train.py
    started 5h
    memory_mb 65000
    job 12
    rank 2
    world_size 4
    utilization_percent 100
gpu 3 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 100
  memory_utilization_percent 9
  memory_used_mb 66000
  temperature_celsius 41
  power_watts 139
  clock_graphics_mhz 1410
  throttle_reasons none
  was 300s..0s every 5s power_watts 139~135
  process 613 python3 compute
    user mia
    command torchrun train.py
    started 5h
    memory_mb 65000
    job 12
    rank 3
    world_size 4
    utilization_percent 100
expect
  severity notice or warning
  first power_limit or clocks_low or straggler
  leads 1
