# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import apache with context %}
{%- if apache.manage_package %}

apache-package-installed:
  pkg.installed:
    - name: {{ apache.package }}
{%- else %}

apache-package-unmanaged:
  test.nop:
    - name: the package is left alone (apache:manage_package is false)
{%- endif %}
