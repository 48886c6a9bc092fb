story calm-laptop-on-battery-idle
title A laptop on battery whose dGPU sleeps
host on_battery 1
gpu 0 AMD Radeon 680M like apu680m
gpu 1 NVIDIA GeForce RTX 3060 Laptop GPU
  vendor nvidia
  state asleep runtime suspended
expect
  calm yes
