story calm-nouveau-like-little
title An old card whose driver only knows its temperature
gpu 0 NVIDIA GeForce GT 710
  vendor nvidia
  driver nouveau
  temperature_celsius 41
  display_active 1
expect
  calm yes
