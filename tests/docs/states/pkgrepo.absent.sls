old-repository:
  pkgrepo.absent:
    - name: deb https://packages.example.org/debian oldstable main
