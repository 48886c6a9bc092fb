story limit-python-between-steps
title One thread prepares each step while the GPU waits
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 19
  graphics_active_percent 19
  sm_active_percent 18
  tensor_active_percent 0
  dram_active_percent 1
  memory_used_mb 30000
  power_watts 205
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 36
  was 60s..0s every 2s utilization_percent 19
  process 800 python3 compute
    user lena
    command python3 train.py
    started 30min
    memory_mb 29500
    utilization_percent 19
    evidence main_running_percent 100
    evidence main_cpu_percent 100
    evidence busiest_thread_percent 100
    evidence cpu_percent 101
expect
  severity info or notice
  first waits_for_host
  pid 800
