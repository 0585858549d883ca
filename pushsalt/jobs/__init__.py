"""The record of jobs: what each command did on its targets, kept on the controller."""
