"""Matchers, one file each; the file's name is Salt's ``tgt_type``. Contract: ``pushsalt.targeting.Matcher``."""
