"""Salt's REST API over one project, and its status page: ``pushsalt serve``. Salt: ``salt-api``, ``rest_cherrypy``."""
