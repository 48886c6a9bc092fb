story limit-compiles
title A program compiles its kernels for minutes before it computes
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  utilization_percent 1
  memory_used_mb 9000
  performance_state 2
  clock_graphics_mhz 2520
  clock_memory_mhz 10251
  power_watts 71
  temperature_celsius 43
  throttle_reasons none
  pcie_generation 4
  was 120s..0s every 2s utilization_percent 0~1~2
  process 800 python3 compute
    user noa
    command python3 train_compile.py
    started 4min
    memory_mb 8700
    utilization_percent 1
    evidence main_running_percent 22
    evidence main_child_percent 70
    evidence main_cpu_percent 25
    evidence busiest_thread_percent 25
    evidence cpu_percent 30
    evidence children 16
    evidence children_cpu_percent 1480
    evidence child_busiest_percent 99
    evidence busiest_child cc1plus
    evidence compiler cc1plus
expect
  severity info or notice
  first compiles
  pid 800
