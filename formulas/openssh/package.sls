# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import openssh with context %}
{%- if openssh.manage_package %}

openssh-package-installed:
  pkg.installed:
    - name: {{ openssh.package }}
{%- else %}

openssh-package-unmanaged:
  test.nop:
    - name: the package is left alone (openssh:manage_package is false)
{%- endif %}
