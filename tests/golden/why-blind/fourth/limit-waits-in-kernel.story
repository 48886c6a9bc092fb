story limit-waits-in-kernel
title A collective that waits for a rank on another host: busy at the watts of rest
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 100
  graphics_active_percent 100
  sm_active_percent 0.8
  dram_active_percent 0
  memory_used_mb 60000
  power_watts 122
  clock_graphics_mhz 1980
  throttle_reasons none
  was 120s..0s every 5s utilization_percent 100 power_watts 122
  process 800 python3 compute
    user lena
    command torchrun train.py
    started 3h
    memory_mb 59500
    utilization_percent 100
    job 12
    rank 0
    world_size 16
expect
  severity info or notice
  first no_work_done or ranks_wait
  pid 800
