story limit-nfs-loaders
title A training on an A100 reads its data from a network file system
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 9
  memory_used_mb 41000
  power_watts 92
  clock_graphics_mhz 1410
  throttle_reasons none
  was 60s..0s every 2s utilization_percent 6~12
  process 800 python3 compute
    user lena
    command python3 train.py --data /net/data
    started 2h
    memory_mb 40500
    utilization_percent 9
    evidence main_running_percent 8
    evidence main_cpu_percent 9
    evidence main_network_fs_percent 88
    evidence busiest_thread_percent 9
    evidence cpu_percent 11
    evidence mount /net/data
expect
  severity info or notice
  first waits_for_network_fs
  pid 800
