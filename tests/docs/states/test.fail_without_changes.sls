{% if grains['kernel'] != 'Plan9' %}
not-supported:
  test.fail_without_changes:
    - name: This formula is for Plan 9 only
    - failhard: true
{% endif %}
