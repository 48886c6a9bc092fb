story fault-unreadable
title Every query of a card fails
gpu 0 NVIDIA GeForce RTX 2080 Ti
  vendor nvidia
  state error Unknown Error
gpu 1 NVIDIA GeForce RTX 2080 Ti like rtx2080ti
expect
  severity critical
  first error
  leads 0
