story limit-checkpoints
title Checkpoints are written every few steps
host disk_busy_percent 99
host io_pressure_percent 71
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 14
  memory_used_mb 50000
  power_watts 121
  clock_graphics_mhz 1410
  throttle_reasons none
  was 60s..0s every 2s utilization_percent 10~18
  process 800 python3 compute
    user lena
    command python3 train.py --save-every 5
    started 30min
    memory_mb 49500
    utilization_percent 14
    evidence main_running_percent 34
    evidence main_disk_percent 62
    evidence main_cpu_percent 38
    evidence busiest_thread_percent 38
    evidence cpu_percent 40
    evidence system_percent 31
    evidence write_bytes_per_second 410000000
    evidence io_pressure_percent 70
    evidence mount /scratch
expect
  severity info or notice
  first waits_for_disk
  pid 800
