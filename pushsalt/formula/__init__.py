"""Formulas of a project: git remotes and folders that are file roots; their versions, states and pillar keys."""
