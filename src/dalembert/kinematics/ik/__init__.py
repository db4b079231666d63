"""Poses → joint positions: in closed form, all branches; and by iteration."""
