/srv/app/aliases:
  file.managed:
    - contents: 'root: ops@example.org'
    - makedirs: true

cp /srv/app/aliases /srv/app/aliases.db:
  cmd.wait:
    - watch:
      - file: /srv/app/aliases        # today one writes cmd.run with onchanges
