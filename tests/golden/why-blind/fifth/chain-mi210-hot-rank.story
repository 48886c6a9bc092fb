story chain-mi210-hot-rank
title Four MI210s train together; one sits behind a blocked filter and keeps the others waiting
gpu 0 AMD Instinct MI210 like mi210
  utilization_percent 100
  memory_utilization_percent 4
  memory_used_mb 58000
  temperature_celsius 47
  temperature_hotspot_celsius 52
  temperature_memory_celsius 50
  power_watts 104
  clock_graphics_mhz 1700
  throttle_reasons none
  was 300s..0s every 5s power_watts 104~101
  process 700 python3 compute
    user mia
    command torchrun pretrain.py
    started 11h
    memory_mb 57000
    job 88
    rank 0
    world_size 4
    utilization_percent 100
gpu 1 AMD Instinct MI210 like mi210
  utilization_percent 100
  memory_utilization_percent 4
  memory_used_mb 58000
  temperature_celsius 47
  temperature_hotspot_celsius 52
  temperature_memory_celsius 50
  power_watts 104
  clock_graphics_mhz 1700
  throttle_reasons none
  was 300s..0s every 5s power_watts 104~101
  process 701 python3 compute
    user mia
    command torchrun pretrain.py
    started 11h
    memory_mb 57000
    job 88
    rank 1
    world_size 4
    utilization_percent 100
gpu 2 AMD Instinct MI210 like mi210
  utilization_percent 100
  memory_utilization_percent 30
  memory_used_mb 58000
  temperature_celsius 88
  temperature_hotspot_celsius 101
  temperature_memory_celsius 93
  power_watts 171
  clock_graphics_mhz 830
  throttle_reasons hardware thermal slowdown
  was 300s..0s every 5s temperature_hotspot_celsius 101~100 power_watts 171~168 clock_graphics_mhz 830~850
  process 702 python3 compute
    user mia
    command torchrun pretrain.py
    started 11h
    memory_mb 57000
    job 88
    rank 2
    world_size 4
    utilization_percent 100
gpu 3 AMD Instinct MI210 like mi210
  utilization_percent 100
  memory_utilization_percent 4
  memory_used_mb 58000
  temperature_celsius 47
  temperature_hotspot_celsius 52
  temperature_memory_celsius 50
  power_watts 104
  clock_graphics_mhz 1700
  throttle_reasons none
  was 300s..0s every 5s power_watts 104~101
  process 703 python3 compute
    user mia
    command torchrun pretrain.py
    started 11h
    memory_mb 57000
    job 88
    rank 3
    world_size 4
    utilization_percent 100
expect
  severity warning or critical
  first heat_limit or airflow or hotspot
  leads 2
  has straggler
