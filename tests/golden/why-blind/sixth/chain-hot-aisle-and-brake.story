story chain-hot-aisle-and-brake
title A warm room heats a whole server, and the V100 that gets the least air slows down in hardware
host ambient_temperature_celsius 41
gpu 0 Tesla V100-SXM2-32GB like v100
  utilization_percent 97
  memory_used_mb 28000
  temperature_celsius 87
  power_watts 214
  clock_graphics_mhz 960
  throttle_reasons hardware thermal slowdown
  was 600s..0s every 10s temperature_celsius 86~87 power_watts 214~210 clock_graphics_mhz 960~990
  process 88 python3 compute
    user leo
    command python3 train.py
    started 7h
    memory_mb 27600
    utilization_percent 97
gpu 1 Tesla V100-SXM2-32GB like v100
  utilization_percent 97
  memory_used_mb 28000
  temperature_celsius 76
  power_watts 283
  clock_graphics_mhz 1500
  throttle_reasons none
  was 600s..0s every 10s temperature_celsius 75~76 power_watts 283~279 clock_graphics_mhz 1500
  process 89 python3 compute
    user leo
    command python3 train.py --fold 2
    started 7h
    memory_mb 27600
    utilization_percent 97
expect
  severity warning or critical
  first heat_limit or airflow
  leads 0
  gpu 1
  never heat_limit
