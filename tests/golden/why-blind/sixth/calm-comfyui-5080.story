story calm-comfyui-5080
title An image generator on a 5080 makes a picture every now and then
gpu 0 NVIDIA GeForce RTX 5080 like rtx5080
  utilization_percent 93
  memory_used_mb 12900
  temperature_celsius 57
  fan_percent 36
  power_watts 288
  performance_state 1
  clock_graphics_mhz 2790
  clock_memory_mhz 14801
  throttle_reasons none
  pcie_generation 5
  was 300s..12s every 6s utilization_percent 0~0~95~95 power_watts 45~45~285~290 temperature_celsius 48~50~56~57 fan_percent 32
  was 11s..0s every 1s utilization_percent 93 power_watts 288 temperature_celsius 57 fan_percent 36
  process 90 python3 compute
    user eva
    command python3 main.py --listen
    title ComfyUI
    started 5h
    memory_mb 12300
    utilization_percent 93
expect
  calm yes
