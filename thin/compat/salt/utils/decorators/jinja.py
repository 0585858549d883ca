"""Decorators for functions of templates. Templates are rendered on the controller, so that they have no effect here.
Salt: ``salt/utils/decorators/jinja.py``."""


class _Mark(object):
    def __init__(self, name=None):
        self.name = name

    def __call__(self, function):
        return function


JinjaFilter = JinjaTest = JinjaGlobal = jinja_filter = jinja_test = jinja_global = _Mark
