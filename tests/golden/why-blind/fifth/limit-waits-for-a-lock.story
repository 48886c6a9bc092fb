story limit-waits-for-a-lock
title The main thread waits for a lock that a thread of the same program holds while it works
gpu 0 NVIDIA L40S like l40s
  utilization_percent 17
  memory_used_mb 14000
  performance_state 0
  clock_graphics_mhz 2520
  clock_memory_mhz 9001
  power_watts 92
  temperature_celsius 41
  throttle_reasons none
  pcie_generation 4
  was 60s..0s every 2s utilization_percent 15~19
  process 800 python3 compute
    user art
    command python3 pipeline.py
    started 30min
    memory_mb 13600
    utilization_percent 17
    evidence main_running_percent 8
    evidence main_lock_percent 90
    evidence main_cpu_percent 9
    evidence busiest_thread_percent 99
    evidence cpu_percent 112
expect
  severity info or notice
  first waits_for_host
  pid 800
