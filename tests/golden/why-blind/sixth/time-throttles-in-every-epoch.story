story time-throttles-in-every-epoch
title An A6000 throttles for a third of each minute, whenever the matrix part of the epoch runs
gpu 0 NVIDIA RTX A6000 like rtxa6000-train
  temperature_celsius 91
  fan_percent 100
  throttle_reasons software thermal slowdown
  clock_graphics_mhz 1305
  was 600s..0s every 10s temperature_celsius 88~89~92 fan_percent 100 clock_graphics_mhz 1650~1650~1290 power_watts 270~272~215 throttle_reasons none~none~software_thermal_slowdown
  process 18 python3 compute
    user ida
    command python3 train.py
    started 6h
    memory_mb 41000
    utilization_percent 98
expect
  severity warning or critical
  first heat_limit or airflow
