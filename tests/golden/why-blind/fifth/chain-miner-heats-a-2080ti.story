story chain-miner-heats-a-2080ti
title A miner in a container drives a 2080 Ti to its temperature limit
gpu 0 NVIDIA GeForce RTX 2080 Ti like rtx2080ti
  utilization_percent 100
  memory_utilization_percent 91
  memory_used_mb 5300
  temperature_celsius 88
  fan_percent 100
  power_watts 214
  performance_state 2
  clock_graphics_mhz 1260
  clock_memory_mhz 6800
  throttle_reasons software thermal slowdown
  pcie_generation 3
  was 900s..0s every 5s temperature_celsius 88 fan_percent 100 clock_graphics_mhz 1260~1290
  process 4410 t-rex compute
    user root
    command /opt/t-rex/t-rex -a kawpow -o stratum+tcp://rvn.2miners.com:6060
    container web-backend
    started 30h
    memory_mb 5200
    utilization_percent 100
expect
  severity warning or critical
  first heat_limit or mining or airflow
  gpu 0
  has mining
  has heat_limit
