story fault-amdgpu-ring-timeout
title amdgpu: a ring hung and the GPU was reset
gpu 0 AMD Radeon RX 6800 XT like rx6800xt
  log 80s amdgpu 0000:10:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=812, emitted seq=814
  log 79s amdgpu 0000:10:00.0: amdgpu: GPU reset begin!
  log 77s amdgpu 0000:10:00.0: amdgpu: GPU reset(2) succeeded!
  was 120s..0s every 5s power_watts 9
expect
  severity notice or warning
  first driver_fault
