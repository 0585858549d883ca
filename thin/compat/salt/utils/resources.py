"""What is declared of resources, as their types read it. Salt: ``salt/utils/resources.py``."""


def resource_pillar_key(opts):
    """The pillar's key under which resources are declared."""
    return opts.get("resource_pillar_key") or "resources"


def pillar_resources_tree(opts):
    """``{type: declaration}``, empty when nothing is declared, or nothing that could be."""
    declared = (opts.get("pillar") or {}).get(resource_pillar_key(opts))
    return declared if isinstance(declared, dict) else {}


def bare_resource_ids_from_decl(decl):
    """The ids of a tree of declarations, whatever their type."""
    declared = list(decl.values()) if isinstance(decl, dict) else []
    lists = [said.get("resource_ids") if isinstance(said, dict) else said for said in declared]
    return [id for ids in lists if isinstance(ids, list) for id in ids]
