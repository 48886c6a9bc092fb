story limit-mi210-loaders-read
title Loader processes of a training on an MI210 wait for a disk
host disk_busy_percent 99
host cpu_iowait_percent 31
host io_pressure_percent 77
gpu 0 AMD Instinct MI210 like mi210
  utilization_percent 15
  memory_utilization_percent 4
  memory_used_mb 31000
  power_watts 88
  clock_graphics_mhz 1700
  was 60s..0s every 2s utilization_percent 13~17
  process 800 python3 compute
    user mia
    command python3 train.py --data /scratch
    started 40min
    memory_mb 30000
    utilization_percent 15
    evidence main_running_percent 12
    evidence main_pipe_percent 84
    evidence main_cpu_percent 13
    evidence busiest_thread_percent 13
    evidence cpu_percent 15
    evidence children 8
    evidence children_cpu_percent 41
    evidence child_busiest_percent 7
    evidence busiest_child python3
    evidence children_waiting_for_disk 7
    evidence io_pressure_percent 75
expect
  severity info or notice
  first waits_for_disk or waits_for_loaders
  pid 800
