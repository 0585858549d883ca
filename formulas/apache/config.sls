# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import apache with context %}

include:
  - .package

{%- set ownership = {"user": apache.root_user, "group": apache.root_group} if apache.root_user else {} %}
{%- macro owned() %}
{%- for key, value in ownership | dictsort %}
    - {{ key }}: {{ value }}
{%- endfor %}
{%- endmacro %}

{%- for setting in ["vhost_dir", "enabled_dir"] if apache[setting] %}

apache-config-{{ setting }}:
  file.directory:
    - name: {{ apache[setting] }}
    - mode: '0755'
    - makedirs: true
    {{- owned() }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- endfor %}

apache-config-listen:
  file.managed:
    - name: {{ apache.ports_file }}
    - source: salt://{{ tpldir }}/files/ports.conf.jinja
    - template: jinja
    - mode: '0644'
    - makedirs: true
    {{- owned() }}
    - context:
        listen: {{ apache.listen | json }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- for name, site in apache.sites | dictsort %}
{%- set docroot = site.get("docroot", apache.docroot_base ~ "/" ~ name) %}

apache-site-{{ name }}-docroot:
  file.directory:
    - name: {{ docroot }}
    - mode: '0755'
    - makedirs: true
    {{- owned() }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- if site.get("index") is not none and "index" in site %}

apache-site-{{ name }}-index:
  file.managed:
    - name: {{ docroot }}/index.html
    - source: salt://{{ tpldir }}/files/index.html.jinja
    - template: jinja
    - mode: '0644'
    {{- owned() }}
    - context:
        site: {{ name | json }}
        text: {{ site.index | json }}
    - require:
      - file: apache-site-{{ name }}-docroot
{%- endif %}

apache-site-{{ name }}-vhost:
  file.managed:
    - name: {{ apache.vhost_dir }}/{{ name }}.conf
    - source: salt://{{ tpldir }}/files/vhost.conf.jinja
    - template: jinja
    - mode: '0644'
    {{- owned() }}
    - context:
        name: {{ name | json }}
        site: {{ site | json }}
        docroot: {{ docroot | json }}
        log_dir: {{ apache.log_dir | json }}
    - require:
      - file: apache-config-vhost_dir
{%- if apache.enabled_dir %}

apache-site-{{ name }}-enabled:
  {%- if site.get("enabled", true) %}
  file.symlink:
    - name: {{ apache.enabled_dir }}/{{ name }}.conf
    - target: {{ apache.vhost_dir }}/{{ name }}.conf
  {%- else %}
  file.absent:
    - name: {{ apache.enabled_dir }}/{{ name }}.conf
  {%- endif %}
    - require:
      - file: apache-site-{{ name }}-vhost
{%- endif %}
{%- endfor %}
{%- for path in apache.absent %}

apache-config-absent-{{ path }}:
  file.absent:
    - name: {{ path }}
    - require:
      - sls: {{ slsdotpath }}.package
{%- endfor %}
