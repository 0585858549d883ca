/srv/app/uploads:
  file.directory:
    - mode: '0750'
    - makedirs: true

/srv/app/conf.d:
  file.directory:
    - dir_mode: '0755'
    - file_mode: '0644'
    - recurse: [mode]
    - makedirs: true
    - clean: true                     # nothing but what required states manage
    - require:
      - file: /srv/app/conf.d/main.conf

/srv/app/conf.d/main.conf:
  file.managed:
    - contents: 'workers = 4'
    - makedirs: true
