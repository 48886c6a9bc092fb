story chain-swap-starves-gpu
title The host swaps: the training waits for memory although its own counters can't be read
host memory_total_mb 32000
host memory_available_mb 260
host memory_percent 99
host swap_total_mb 16000
host swap_used_mb 14800
host swap_in_pages_per_second 21000
host swap_out_pages_per_second 18000
host memory_pressure_percent 71
host memory_stall_percent 48
host io_pressure_percent 80
host cpu_iowait_percent 60
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  utilization_percent 9
  power_watts 44
  temperature_celsius 45
  fan_percent 0
  was 120s..0s every 5s utilization_percent 6~14~8
  process 222 python3 compute
    user kim
    command python3 train.py
    started 30min
    memory_mb 9500
    utilization_percent 8
expect
  severity notice or warning
  first waits_for_memory
