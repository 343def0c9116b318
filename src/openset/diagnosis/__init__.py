"""Diagnosis: from matches to explanations. One question a file."""
