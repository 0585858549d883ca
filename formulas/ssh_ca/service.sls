# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import ssh_ca, ready with context %}

include:
  - .hosts
  - .config
{%- if ready and ssh_ca.reload %}

ssh_ca-reloaded:
  cmd.run:
    - name: {{ ssh_ca.reload | json }}
    - onchanges:
      - file: ssh_ca-config
{%- for kind in ssh_ca.host_certificates | sort %}
      - file: ssh_ca-host-certificate-{{ kind }}
{%- endfor %}
    - require:
      - cmd: ssh_ca-in-force
{%- elif ready and ssh_ca.manage_service %}

ssh_ca-service:
  service.running:
    - name: {{ ssh_ca.service }}
    - reload: true
    - watch:
      - file: ssh_ca-config
{%- for kind in ssh_ca.host_certificates | sort %}
      - file: ssh_ca-host-certificate-{{ kind }}
{%- endfor %}
    - require:
      - cmd: ssh_ca-in-force
{%- endif %}
