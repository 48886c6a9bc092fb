story calm-two-mi300x-at-rest
title Two MI300X of a partition at rest
gpu 0 AMD Instinct MI300X like mi300x
  was 300s..0s every 10s power_watts 138~140
gpu 1 AMD Instinct MI300X like mi300x
  was 300s..0s every 10s power_watts 141~139
expect
  calm yes
  first nothing_unusual
