story calm-mi210-idle
title Two MI210s at rest
gpu 0 AMD Instinct MI210 like mi210
gpu 1 AMD Instinct MI210 like mi210
  temperature_celsius 44
  temperature_hotspot_celsius 47
expect
  calm yes
  first nothing_unusual
