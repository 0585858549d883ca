# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import nginx with context %}

include:
  - .package

{%- set ownership = {"user": nginx.root_user, "group": nginx.root_group} if nginx.root_user else {} %}
{%- macro owned() %}
{%- for key, value in ownership | dictsort %}
    - {{ key }}: {{ value }}
{%- endfor %}
{%- endmacro %}

nginx-config-server_dir:
  file.directory:
    - name: {{ nginx.server_dir }}
    - mode: '0755'
    - makedirs: true
    {{- owned() }}
    - require:
      - sls: {{ slsdotpath }}.package

nginx-config:
  file.managed:
    - name: {{ nginx.conf_dir }}/nginx.conf
    - source: salt://{{ tpldir }}/files/nginx.conf.jinja
    - template: jinja
    - mode: '0644'
    {{- owned() }}
    - context:
        nginx: {{ nginx | json }}
    {%- if nginx.program %}
    - check_cmd: {{ nginx.program }} -t -q -c
    - tmp_dir: {{ nginx.conf_dir }}
    {%- endif %}
    - require:
      - sls: {{ slsdotpath }}.package
{%- for name, server in nginx.servers | dictsort %}
{%- set docroot = server.get("docroot", nginx.docroot_base ~ "/" ~ name) %}
{%- if server.get("enabled", true) %}

nginx-server-{{ name }}-docroot:
  file.directory:
    - name: {{ docroot }}
    - mode: '0755'
    - makedirs: true
    {{- owned() }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- if server.get("index") is not none and "index" in server %}

nginx-server-{{ name }}-index:
  file.managed:
    - name: {{ docroot }}/index.html
    - contents: {{ server.index | json }}
    - mode: '0644'
    {{- owned() }}
    - require:
      - file: nginx-server-{{ name }}-docroot
{%- endif %}
{%- endif %}

nginx-server-{{ name }}:
  {%- if server.get("enabled", true) %}
  file.managed:
    - name: {{ nginx.server_dir }}/{{ name }}.conf
    - source: salt://{{ tpldir }}/files/server.conf.jinja
    - template: jinja
    - mode: '0644'
    {{- owned() }}
    - context:
        name: {{ name | json }}
        server: {{ server | json }}
        docroot: {{ docroot | json }}
        log_dir: {{ nginx.log_dir | json }}
  {%- else %}
  file.absent:
    - name: {{ nginx.server_dir }}/{{ name }}.conf
  {%- endif %}
    - require:
      - file: nginx-config-server_dir
{%- endfor %}
{%- for path in nginx.absent %}

nginx-config-absent-{{ path }}:
  file.absent:
    - name: {{ path }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- endfor %}
