example-repository:
  pkgrepo.managed:
    - name: deb [signed-by=/etc/apt/keyrings/example.asc] https://packages.example.org/debian stable main
    - file: /etc/apt/sources.list.d/example.list
    - key_url: https://packages.example.org/key.asc
    - aptkey: false
    - clean_file: true
    - require_in:
      - pkg: example-tool

example-tool:
  pkg.installed
