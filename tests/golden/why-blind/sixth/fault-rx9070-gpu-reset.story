story fault-rx9070-gpu-reset
title A game hung an RX 9070 XT; the driver reset it 40 seconds ago
gpu 0 AMD Radeon RX 9070 XT like rx9070xt
  log 41s amdgpu 0000:10:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=90412, emitted seq=90415
  log 40s amdgpu 0000:10:00.0: amdgpu: GPU reset begin!
  log 38s amdgpu 0000:10:00.0: amdgpu: GPU reset(1) succeeded!
  was 120s..0s every 5s power_watts 14
expect
  severity notice or warning or critical
  first driver_fault
  leads 0
