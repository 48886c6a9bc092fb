story calm-mig-h100-serves
title An H100 in three instances, two of which serve
gpu 0 NVIDIA H100 80GB HBM3 like h100
  mig_enabled 1
  # Corrected: the counters of the whole GPU, at 0, can't be read in MIG mode either.
  graphics_active_percent -
  sm_active_percent -
  tensor_active_percent -
  dram_active_percent -
  utilization_percent -
  memory_utilization_percent -
  memory_used_mb 47000
  power_watts 310
  temperature_celsius 47
  clock_graphics_mhz 1980
  throttle_reasons none
  was 120s..0s every 5s power_watts 310~305
  instance 3g.40gb
  instance 2g.20gb
  instance 1g.10gb
  process 21 python3 compute
    in 0
    user svc
    command vllm serve Qwen/Qwen3-8B
    model Qwen3-8B
    started 50h
    memory_mb 35000
  process 22 python3 compute
    in 1
    user svc
    command python3 embed.py
    started 50h
    memory_mb 12000
expect
  calm yes
