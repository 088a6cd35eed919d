"""Trained models that ship with the package; `dnatrace certify` prints what is proved of them."""
