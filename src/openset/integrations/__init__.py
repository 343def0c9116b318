"""Integrations: our results in the hands of other people's tools, none of which we depend on."""
