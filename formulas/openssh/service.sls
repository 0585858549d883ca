# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import openssh with context %}

include:
  - .config
{%- if openssh.manage_service %}

openssh-service-running:
  service.running:
    - name: {{ openssh.service }}
    - enable: true
    - reload: true
    - require:
      - sls: {{ slsdotpath }}.package
    - watch:
      - sls: {{ slsdotpath }}.config
{%- else %}

openssh-service-unmanaged:
  test.nop:
    - name: the service is left alone (openssh:manage_service is false)
{%- endif %}
