# -*- coding: utf-8 -*-
# vim: ft=sls
---
include:
  - .groups
  - .accounts
  - .keys
  - .sudo
