# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import nginx with context %}
{%- if nginx.manage_package %}

nginx-package-installed:
  pkg.installed:
    - name: {{ nginx.package }}
{%- else %}

nginx-package-unmanaged:
  test.nop:
    - name: the package is left alone (nginx:manage_package is false)
{%- endif %}
