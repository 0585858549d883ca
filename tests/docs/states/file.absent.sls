/srv/app/old:
  file.absent
