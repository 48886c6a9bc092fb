story limit-disk
title Random reads from a hard disk in the main thread
host disk_busy_percent 100
host cpu_iowait_percent 22
host io_pressure_percent 84
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  utilization_percent 13
  memory_used_mb 15000
  performance_state 2
  clock_graphics_mhz 1740
  clock_memory_mhz 9501
  power_watts 138
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 48
  was 60s..0s every 2s utilization_percent 11~15
  process 800 python3 compute
    user lena
    command python3 train.py --data /data
    started 30min
    memory_mb 14500
    utilization_percent 13
    evidence main_running_percent 12
    evidence main_disk_percent 84
    evidence main_cpu_percent 14
    evidence busiest_thread_percent 14
    evidence cpu_percent 16
    evidence read_bytes_per_second 92000000
    evidence io_pressure_percent 83
    evidence mount /data
expect
  severity info or notice
  first waits_for_disk
  pid 800
