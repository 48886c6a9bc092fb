story limit-quota-of-a-pod
title The CPU quota of a pod stops a program on an L4
gpu 0 NVIDIA L4 like l4
  utilization_percent 28
  memory_used_mb 15000
  temperature_celsius 48
  power_watts 34
  performance_state 0
  clock_graphics_mhz 2040
  clock_memory_mhz 6250
  throttle_reasons none
  pcie_generation 4
  was 60s..0s every 2s utilization_percent 24~31
  process 800 python3 compute
    user root
    container pod-3
    command python3 serve.py
    started 2h
    memory_mb 14800
    utilization_percent 28
    evidence main_running_percent 60
    evidence main_cpu_percent 48
    evidence busiest_thread_percent 48
    evidence cpu_percent 99
    evidence quota_cores 1
    evidence throttled_percent 71
expect
  severity info or notice
  first cpu_quota
  pid 800
