story time-heat-is-over
title It was at its limit ten minutes ago; the work has ended and it is cool
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080
  temperature_celsius 44
  was 900s..600s every 10s temperature_celsius 93 utilization_percent 97 power_watts 230 fan_percent 100 throttle_reasons software_thermal_slowdown
  was 599s..300s every 10s temperature_celsius 70>46 utilization_percent 0 power_watts 28 fan_percent 60>0
  was 299s..0s every 10s temperature_celsius 45
expect
  severity info or notice
  first nothing_unusual or recent_load or heat_limit or airflow
  gpu 0
  never hot
  never fan_stopped
