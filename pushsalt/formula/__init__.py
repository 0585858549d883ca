"""Formulas of a project (git remotes and folders that are file roots), with their versions, states and pillar keys."""
