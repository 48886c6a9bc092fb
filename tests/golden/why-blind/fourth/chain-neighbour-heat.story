story chain-neighbour-heat
title Two 3090s without a gap: the upper one breathes the heat of the lower one and throttles
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 89
  fan_percent 100
  power_watts 268
  clock_graphics_mhz 1365
  throttle_reasons software thermal slowdown
  was 300s..0s every 5s temperature_celsius 89 fan_percent 100 power_watts 268~271~265
  process 91 python3 compute
    command python3 sweep.py --seed 1
    started 5h
    memory_mb 19000
    utilization_percent 98
gpu 1 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 71
  power_watts 341
  fan_percent 70
  was 300s..0s every 5s temperature_celsius 71 power_watts 341~344~338
  process 92 python3 compute
    command python3 sweep.py --seed 2
    started 5h
    memory_mb 19000
    utilization_percent 98
expect
  severity warning
  first heat_limit or neighbour_heat or airflow
  leads 0
  gpu 0
  has neighbour_heat or airflow
