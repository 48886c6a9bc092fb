story calm-b200-idle
title A B200 at rest draws 142 W
gpu 0 NVIDIA B200 like b200
gpu 1 NVIDIA B200 like b200
  power_watts 148
  temperature_celsius 32
expect
  calm yes
  first nothing_unusual
