story calm-apu-idle
title A laptop with Radeon graphics at rest
gpu 0 AMD Radeon 680M like apu680m
  was 120s..0s every 5s utilization_percent 1~3
expect
  calm yes
