"""What the site needs besides Sphinx: formulas as MathML with links to their functions, and the reference."""
