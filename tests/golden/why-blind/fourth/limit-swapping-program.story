story limit-swapping-program
title The program itself is in swap
host memory_pressure_percent 77
host swap_in_pages_per_second 14000
host swap_used_mb 15000
host swap_total_mb 16000
host memory_percent 98
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060
  utilization_percent 5
  memory_used_mb 7000
  performance_state 2
  clock_graphics_mhz 1860
  clock_memory_mhz 7301
  power_watts 41
  throttle_reasons none
  pcie_generation 4
  was 60s..0s every 2s utilization_percent 3~7
  process 800 python3 compute
    user lena
    command python3 preprocess_and_train.py
    started 30min
    memory_mb 6700
    utilization_percent 5
    evidence main_running_percent 9
    evidence main_disk_percent 88
    evidence main_cpu_percent 8
    evidence busiest_thread_percent 8
    evidence cpu_percent 9
    evidence major_faults_per_second 2900
    evidence swap_bytes 9800000000
    evidence memory_pressure_percent 76
expect
  severity info or notice
  first waits_for_memory
  pid 800
