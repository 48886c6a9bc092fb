story limit-loaders-busy
title Two loader processes decode images as fast as they can, the GPU waits
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 6
  graphics_active_percent 6
  sm_active_percent 5
  tensor_active_percent 0
  dram_active_percent 1
  memory_used_mb 30000
  power_watts 136
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 36
  was 60s..0s every 2s utilization_percent 6
  process 800 python3 compute
    user lena
    command python3 train_imagenet.py --workers 2
    started 30min
    memory_mb 29500
    utilization_percent 6
    evidence main_running_percent 4
    evidence main_pipe_percent 94
    evidence main_cpu_percent 5
    evidence busiest_thread_percent 5
    evidence cpu_percent 7
    evidence children 2
    evidence children_cpu_percent 193
    evidence child_busiest_percent 98
expect
  severity info or notice
  first waits_for_loaders
  pid 800
