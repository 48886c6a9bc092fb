story time-thermal-comes-and-goes
title Heat slows a 3080 for five seconds of every fifteen; at this moment it does not
gpu 0 NVIDIA GeForce RTX 3080 like rtx3080-game
  temperature_celsius 91
  fan_percent 100
  power_watts 288
  clock_graphics_mhz 1755
  was 600s..5s every 5s throttle_reasons software_thermal_slowdown~none~none clock_graphics_mhz 1290~1755~1755 temperature_celsius 93~91~92 fan_percent 100
  process 8 Cyberpunk2077.exe graphics
    started 60min
    memory_mb 7000
    utilization_percent 96
expect
  severity notice or warning or critical
  first heat_limit or airflow
