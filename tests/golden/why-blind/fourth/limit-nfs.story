story limit-nfs
title The data lies on a slow NFS server
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 8
  memory_used_mb 22000
  power_watts 92
  clock_graphics_mhz 1410
  throttle_reasons none
  was 60s..0s every 2s utilization_percent 6~10
  process 800 python3 compute
    user lena
    command python3 train.py --data /mnt/nfs/c4
    started 30min
    memory_mb 21500
    utilization_percent 8
    evidence main_running_percent 9
    evidence main_network_fs_percent 88
    evidence main_cpu_percent 10
    evidence busiest_thread_percent 10
    evidence cpu_percent 12
    evidence mount /mnt/nfs
expect
  severity info or notice
  first waits_for_network_fs
  pid 800
