/srv/app/settings.json:
  file.serialize:
    - dataset:
        port: 8080
        hosts: [web1, web2]
    - serializer: json
    - serializer_opts:
      - indent: 2
    - merge_if_exists: true
    - makedirs: true
