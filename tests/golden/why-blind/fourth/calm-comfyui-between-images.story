story calm-comfyui-between-images
title ComfyUI waits for the next prompt
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080
  memory_used_mb 9900
  temperature_celsius 44
  power_watts 22
  was 300s..40s every 5s utilization_percent 98 power_watts 270 temperature_celsius 61
  was 39s..0s every 3s utilization_percent 0 power_watts 30>22 temperature_celsius 55>44
  process 66 python3 compute
    command python3 main.py --listen
    title ComfyUI
    started 4h
    memory_mb 9400
    utilization_percent 0
expect
  severity info
