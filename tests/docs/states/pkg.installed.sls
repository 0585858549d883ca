web-server:
  pkg.installed:
    - pkgs:
      - nginx
      - openssl: '>=1.1'
    - install_recommends: false
    - refresh: false
