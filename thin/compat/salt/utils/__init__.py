"""Salt: ``salt/utils/__init__.py``, which once contained helpers that are in separate modules now.

Modules written before 2018 still call them by these names (``salt.utils.which``), which Salt has removed.
"""

import sys
import types

_MOVED = {
    "args": "arg_lookup argspec_report clean_kwargs format_call invalid_kwargs shlex_split test_mode",
    "data": "compare_dicts compare_lists decode_dict decode_list exactly_n exactly_one filter_by is_dictlist is_iter "
    "is_list is_true mysql_to_dict repack_dictlist simple_types_filter subdict_match substr_in_list "
    "traverse_dict traverse_dict_and_list",
    "dateutils": "date_cast date_format total_seconds",
    "decorators": "memoize",
    "files": "backup_minion copyfile flopen fopen fpopen human_size_to_bytes is_fcntl_available istextfile list_files "
    "mkstemp normalize_mode process_read_exception recursive_copy rm_rf safe_filename_leaf safe_filepath "
    "safe_rm safe_walk set_umask",
    "functools": "alias_function namespaced_function",
    "hashutils": "get_hash",
    "jid": "is_jid",
    "network": "gen_mac dns_check",
    "path": "check_or_die path_join sanitize_win_path_string which which_bin",
    "platform": "is_aix is_darwin is_fedora is_freebsd is_linux is_netbsd is_openbsd is_proxy is_smartos "
    "is_smartos_globalzone is_smartos_zone is_sunos is_windows",
    "stringutils": "build_whitespace_split_regex check_include_exclude check_whitelist_blacklist contains_whitespace "
    "dequote expr_match get_context human_to_bytes is_bin_file is_bin_str is_hex is_quoted print_cli "
    "str_to_num to_bytes to_none to_str to_unicode",
    "user": "chugid chugid_and_umask get_default_group get_gid get_gid_list get_group_dict get_group_list get_uid "
    "get_user",
    "versions": "compare_versions kwargs_warn_until version_cmp warn_until",
}
_NOW = {
    "compare_versions": "compare",
    "is_bin_file": "is_binary",
    "is_bin_str": "is_binary",
    "istextfile": "is_text",
    "path_join": "join",
    "sanitize_win_path_string": "sanitize_win_path",
    "str_to_num": "to_num",
}
_HOME = {name: module for module, names in _MOVED.items() for name in names.split()}
_HOME["is_bin_file"] = "files"


class _Utils(types.ModuleType):
    def __getattr__(self, name):
        import importlib

        if name.startswith("__") or name not in _HOME:
            raise AttributeError("module %r has no attribute %r" % (self.__name__, name))
        value = getattr(importlib.import_module("salt.utils." + _HOME[name]), _NOW.get(name, name))
        setattr(self, name, value)
        return value


sys.modules[__name__].__class__ = _Utils
