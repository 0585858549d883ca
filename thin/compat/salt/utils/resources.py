"""Declarations of resources, for the packages of types. Salt: ``salt/utils/resources.py``."""


def resource_pillar_key(opts):
    """The key in the pillar with the declarations of resources."""
    return opts.get("resource_pillar_key") or "resources"


def pillar_resources_tree(opts):
    """``{type: declaration}``; {} if there is no valid declaration."""
    declared = (opts.get("pillar") or {}).get(resource_pillar_key(opts))
    return declared if isinstance(declared, dict) else {}


def bare_resource_ids_from_decl(decl):
    """The ids in a tree of declarations, of all types."""
    declared = list(decl.values()) if isinstance(decl, dict) else []
    lists = [
        declaration.get("resource_ids") if isinstance(declaration, dict) else declaration for declaration in declared
    ]
    return [id for ids in lists if isinstance(ids, list) for id in ids]
