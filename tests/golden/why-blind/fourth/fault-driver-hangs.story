story fault-driver-hangs
title NVML does not come back
source nvml hung no answer for 40 s
gpu 0 NVIDIA GeForce RTX 3080
  vendor nvidia
  state error no answer from the driver
expect
  severity critical
  first source_hung or error
