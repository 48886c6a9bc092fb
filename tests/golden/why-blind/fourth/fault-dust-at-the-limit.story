story fault-dust-at-the-limit
title Three years of dust in a 3080: fan at 100%, at its limit, slowed down
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  temperature_celsius 93
  fan_percent 100
  power_watts 232
  clock_graphics_mhz 1350
  throttle_reasons software thermal slowdown
  was 300s..0s every 5s temperature_celsius 92~93 fan_percent 100
  process 12 python3 compute
    started 3h
    memory_mb 7000
    utilization_percent 96
expect
  severity warning or critical
  first heat_limit or airflow
  gpu 0
  has airflow
