story limit-container-out-of-memory
title A container at its memory limit reads its pages again and again
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 7
  graphics_active_percent 7
  sm_active_percent 6
  tensor_active_percent 1
  dram_active_percent 1
  memory_used_mb 52000
  power_watts 138
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 36
  was 60s..0s every 2s utilization_percent 6~8
  process 800 python3 compute
    user lena
    command python3 train.py
    container job-4
    started 50min
    memory_mb 51500
    utilization_percent 7
    evidence main_running_percent 21
    evidence main_disk_percent 74
    evidence main_cpu_percent 22
    evidence busiest_thread_percent 22
    evidence cpu_percent 26
    evidence major_faults_per_second 11000
    evidence read_bytes_per_second 610000000
    evidence memory_pressure_percent 68
    evidence io_pressure_percent 70
expect
  severity info or notice
  first waits_for_memory
  pid 800
