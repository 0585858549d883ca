what-to-do-next:
  test.show_notification:
    - text: |
        Now run the migration by hand.
