/srv/app/current:
  file.symlink:
    - target: /srv/app/releases/2
    - force: true
    - makedirs: true
