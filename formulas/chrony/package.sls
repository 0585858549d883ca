# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import chrony with context %}
{%- if chrony.manage_package %}

chrony-package-installed:
  pkg.installed:
    - name: {{ chrony.package }}
{%- else %}

chrony-package-unmanaged:
  test.nop:
    - name: the package is left alone (chrony:manage_package is false)
{%- endif %}
