"""Ask an endpoint. Paths are below the URL that is declared of it; what is sent and answered is JSON."""

#: what templates cannot call in a dry run
__changes__ = ("post", "put", "patch", "delete", "query")
__reads__ = ("get", "find")


def get(path="", **params):
    """
    What the endpoint says at a path

    path
        Below the endpoint's URL.
    params
        Further arguments are the query of the URL.

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@http_api:crm' http_api.get /customers limit=5
    """
    return query(path, params={name: params[name] for name in params if not name.startswith("__")})


def post(path="", data=None):
    """
    Send data to a path; what the endpoint answers

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@http_api:crm' http_api.post /customers data='{name: Ann}'
    """
    return query(path, "POST", data)


def put(path="", data=None):
    """Put data at a path; what the endpoint answers"""
    return query(path, "PUT", data)


def patch(path="", data=None):
    """Change what is at a path; what the endpoint answers"""
    return query(path, "PATCH", data)


def delete(path=""):
    """Delete what is at a path; what the endpoint answers"""
    return query(path, "DELETE")


def find(path=""):
    """What is at a path; None when there is nothing (404, 410)"""
    found = __resource_funcs__["http_api.query"](path, raise_error=False)
    if found["status"] in (404, 410):
        return None
    return query(path) if "error" in found else found["data"]


def query(path="", method="GET", data=None, params=None):
    """Any request; what the endpoint answers. An error of the endpoint is raised as CommandExecutionError"""
    return __resource_funcs__["http_api.query"](path, method, data, params)["data"]
