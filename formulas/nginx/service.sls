# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import nginx with context %}

include:
  - .config
{%- if nginx.manage_service %}

nginx-service-running:
  service.running:
    - name: {{ nginx.service }}
    - enable: true
    - reload: true
    - require:
      - sls: {{ slsdotpath }}.package
    - watch:
      - sls: {{ slsdotpath }}.config
{%- else %}

nginx-service-unmanaged:
  test.nop:
    - name: the service is left alone (nginx:manage_service is false)
{%- endif %}
