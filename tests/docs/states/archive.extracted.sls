/srv/app/releases/1:
  archive.extracted:
    - source: salt://app.tar.gz
    - enforce_toplevel: false
    - trim_output: 20
    - options: --strip-components=1
