story limit-no-tensor-cores
title A training in FP32 with TF32 off
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 98
  graphics_active_percent 99
  sm_active_percent 95
  tensor_active_percent 0
  fp32_active_percent 74
  dram_active_percent 6
  memory_used_mb 40000
  power_watts 641
  clock_graphics_mhz 1755
  throttle_reasons none
  temperature_celsius 60
  was 60s..0s every 2s utilization_percent 98
  process 800 python3 compute
    user lena
    command python3 train_fp32.py
    started 30min
    memory_mb 39500
    utilization_percent 98
expect
  severity info or notice
  first no_tensor_cores or compute_load
  pid 800
  gpu 0
  has no_tensor_cores
