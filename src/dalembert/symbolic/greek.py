"""Names of Greek letters: {name: (character, LaTeX)}."""

from __future__ import annotations

_SMALL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_CHARACTERS = "αβγδεζηθικλμνξπρστφχψω"
_CAPITAL = {"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Omega": "Ω"}

GREEK = {name: (letter, f"\\{name}") for name, letter in zip(_SMALL.split(), _CHARACTERS, strict=True)}
GREEK |= {name: (letter, f"\\{name}") for name, letter in _CAPITAL.items()}
