"""Serializers, one file each: ``serialize(obj, **options)`` and ``deserialize(stream_or_string, **options)``.

The usual formats are in ``pushsalt/functions/slsutil.py``; here is the place of users' own (``_serializers`` of the
file roots), which ``file.serialize`` and ``slsutil`` find by their file's name. They run on the controller.
"""
