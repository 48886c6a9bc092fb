story chain-laptop-paste-dried
title An old gaming laptop: its paste has dried, and the GPU crawls in a game
host cpu_temperature_celsius 91
host cpu_percent 22
gpu 0 NVIDIA GeForce RTX 3060 Laptop GPU like laptop3060
  utilization_percent 98
  memory_used_mb 5000
  temperature_celsius 87
  power_watts 47
  power_limit_watts 95
  power_limit_default_watts 95
  performance_state 0
  clock_graphics_mhz 780
  clock_memory_mhz 7001
  throttle_reasons software thermal slowdown
  pcie_generation 4
  was 600s..0s every 5s temperature_celsius 87~86 clock_graphics_mhz 780~810~765
  process 310 eldenring.exe graphics
    started 70min
    memory_mb 4700
    utilization_percent 97
expect
  severity warning or critical
  first heat_limit or airflow
  leads 0
  gpu 0
  has clocks_low
