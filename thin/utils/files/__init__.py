"""Operations on files: owners and modes, whole writes, diffs, sources, trees and edits of text.

Everything here takes values and paths and returns values; Salt's dunders stay in thin/states/file.py and
thin/modules/file.py. Each purpose is one module, so that a run imports only what its states need.
"""
