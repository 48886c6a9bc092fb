story limit-decodes-on-the-cpu
title A program that prepares its pictures in eight native threads keeps a 3060 waiting
host cpu_percent 99
host cpu_count 8
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  utilization_percent 33
  power_watts 74
  temperature_celsius 51
  fan_percent 32
  was 60s..0s every 2s utilization_percent 29~37
  process 800 python3 compute
    user eva
    command python3 classify.py
    started 1h
    memory_mb 9300
    utilization_percent 33
    evidence main_running_percent 97
    evidence main_cpu_percent 93
    evidence busiest_thread_percent 96
    evidence busy_threads 8
    evidence cpu_percent 770
    evidence cpu_time_native_percent 88
    evidence cpu_time_python_percent 9
expect
  severity info or notice
  first waits_for_host
  pid 800
