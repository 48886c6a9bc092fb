story calm-two-dgpus-asleep
title A workstation whose two GPUs sleep
gpu 0 AMD Radeon RX 6800 XT
  vendor amd
  state asleep runtime suspended
gpu 1 NVIDIA RTX A6000
  vendor nvidia
  state asleep runtime suspended
expect
  calm yes
  first asleep
