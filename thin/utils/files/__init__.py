"""Operations on files: owners and modes, atomic writes, diffs, sources, trees and edits of text.

The modules here take values and paths and return values; Salt's dunders are used in thin/states/file.py and
thin/modules/file.py. Each module has one purpose, so that a run imports only what its states need.
"""
