story fault-cpu-governor
title A governor holds the CPU at its lowest clock while a GPU works
host cpu_clocks_held_low 1
host cpu_percent 14
host cpu_core_max_percent 100
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  utilization_percent 38
  power_watts 118
  temperature_celsius 50
  was 120s..0s every 5s utilization_percent 36~40
  process 41 python3 compute
    started 1h
    memory_mb 11000
    utilization_percent 38
    evidence main_running_percent 100
    evidence main_cpu_percent 100
    evidence busiest_thread_percent 100
    evidence cpu_percent 103
expect
  severity notice or warning
  first cpu_clocks_low or waits_for_host
  has cpu_clocks_low
