story limit-cpu-quota
title A container with two cores: its quota stops the loader half of the time
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 11
  graphics_active_percent 11
  sm_active_percent 10
  tensor_active_percent 0
  dram_active_percent 1
  memory_used_mb 30000
  power_watts 150
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 36
  was 60s..0s every 2s utilization_percent 11
  process 800 python3 compute
    user lena
    command python3 train.py
    container train-job-7
    started 30min
    memory_mb 29500
    utilization_percent 11
    evidence main_running_percent 55
    evidence main_pipe_percent 40
    evidence main_cpu_percent 48
    evidence busiest_thread_percent 48
    evidence cpu_percent 52
    evidence children 8
    evidence children_cpu_percent 148
    evidence child_busiest_percent 19
    evidence quota_cores 2
    evidence throttled_percent 62
    evidence cpu_pressure_percent 71
expect
  severity info or notice
  first cpu_quota
  pid 800
