"""Judges: files by the doctor, equations by independent oracles, systems by the properties of mechanics."""
