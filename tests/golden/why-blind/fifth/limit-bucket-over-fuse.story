story limit-bucket-over-fuse
title The data is read through a FUSE mount of a bucket
gpu 0 NVIDIA L4 like l4
  utilization_percent 12
  memory_used_mb 9000
  performance_state 0
  clock_graphics_mhz 2040
  clock_memory_mhz 6251
  power_watts 32
  temperature_celsius 44
  throttle_reasons none
  pcie_generation 4
  was 60s..0s every 2s utilization_percent 10~14
  process 800 python3 compute
    user svc
    command python3 train.py --data /mnt/bucket
    container train-9
    started 30min
    memory_mb 8700
    utilization_percent 12
    evidence main_running_percent 11
    evidence main_fuse_percent 86
    evidence main_cpu_percent 12
    evidence busiest_thread_percent 12
    evidence cpu_percent 14
    evidence mount /mnt/bucket
expect
  severity info or notice
  first waits_for_network_fs
  pid 800
