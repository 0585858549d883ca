Etc/UTC:
  timezone.system
