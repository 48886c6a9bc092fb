story fault-miner-on-a-server
title A coin miner runs on an A100
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  memory_used_mb 6100
  power_watts 301
  was 300s..0s every 5s utilization_percent 100
  process 6661 t-rex compute
    user www-data
    command /tmp/.x/t-rex -a kawpow -o stratum+tcp://pool:3333
    started 11h
    memory_mb 5900
    utilization_percent 100
expect
  severity warning
  first mining
  pid 6661
