/srv/app/releases/1:
  archive.extracted:
    - source: salt://app.tar.gz
    - enforce_toplevel: false
    - user: root
    - options: --strip-components=1
