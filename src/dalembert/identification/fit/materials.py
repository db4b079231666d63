"""Densities of what robots are made of: one row per material, with the source.

Typical values. Alloys are those of the usual grades, wrought and fully dense; plastics are solid, so that a printed
part needs its share of infill; composites depend on how they were laid. `spread` is what the density of another batch
or grade may differ by; where it matters, weigh the part (`parts.cad` takes its mass).
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import unknown


@dataclass(frozen=True)
class Material:
    """Density [kg/m³], what it is, its relative spread, and where the number comes from."""

    density: float
    what: str
    spread: float
    source: str


_ASM = "typical handbook value, as in ASM Handbook vol. 1 and 2"
_CDA = "Copper Development Association, alloys.copper.org"
_CRC = "density of the element, as in the CRC Handbook of Chemistry and Physics"

MATERIALS: dict[str, Material] = {
    "steel": Material(7850.0, "carbon and low-alloy steel (AISI 1045, 4140)", 0.005, _ASM),
    "stainless steel": Material(8000.0, "austenitic stainless steel (AISI 304, 316)", 0.01, _ASM),
    "cast iron": Material(7150.0, "gray cast iron", 0.02, _ASM),
    "aluminum 6061": Material(2700.0, "AA 6061-T6, wrought", 0.003, _ASM),
    "aluminum 7075": Material(2810.0, "AA 7075-T6, wrought", 0.003, _ASM),
    "cast aluminum": Material(2680.0, "A356.0, castings of robot links", 0.01, _ASM),
    "magnesium": Material(1770.0, "AZ31B", 0.01, _ASM),
    "titanium": Material(4430.0, "Ti-6Al-4V, grade 5", 0.005, _ASM),
    "brass": Material(8500.0, "free-cutting brass C36000", 0.005, _CDA),
    "bronze": Material(8890.0, "phosphor bronze C54400", 0.01, _CDA),
    "copper": Material(8940.0, "electrolytic tough pitch copper C11000", 0.005, _CDA),
    "lead": Material(11340.0, "pure lead, counterweights", 0.005, _CRC),
    "tungsten": Material(19250.0, "pure tungsten; heavy alloys are 17000 to 18500", 0.005, _CRC),
    "neodymium magnet": Material(7500.0, "sintered NdFeB", 0.02, "typical value"),
    "carbon fiber laminate": Material(
        1570.0,
        "epoxy with 60 % of its volume standard carbon fiber: 0.6 · 1780 + 0.4 · 1250",
        0.04,
        "rule of mixtures with the fiber's and resin's data sheets",
    ),
    "glass fiber laminate": Material(1850.0, "FR-4 circuit boards", 0.03, "typical value"),
    "pla": Material(1240.0, "polylactide, solid", 0.01, "NatureWorks Ingeo 4043D data sheet"),
    "abs": Material(1040.0, "acrylonitrile butadiene styrene, solid", 0.02, "typical value, as of Stratasys ABS-M30"),
    "petg": Material(1270.0, "glycol-modified polyester, solid", 0.01, "typical value, as of Eastman Eastar 6763"),
    "pom": Material(1420.0, "polyoxymethylene homopolymer; copolymer 1410", 0.01, "typical value, as of Delrin 500P"),
    "nylon": Material(1140.0, "polyamide 6.6, dry", 0.01, "typical value, as of Zytel 101"),
    "sintered nylon": Material(930.0, "polyamide 12, laser sintered", 0.03, "typical value, as of EOS PA 2200"),
    "peek": Material(1300.0, "polyether ether ketone", 0.01, "typical value, as of Victrex 450G"),
    "polycarbonate": Material(1200.0, "polycarbonate", 0.01, "typical value, as of Makrolon 2407"),
    "acrylic": Material(1190.0, "polymethyl methacrylate", 0.01, "typical value, as of Plexiglas GS"),
    "polyethylene": Material(950.0, "high-density polyethylene", 0.02, "typical value"),
    "ptfe": Material(2160.0, "polytetrafluoroethylene", 0.02, "typical value"),
}


def material(name: str) -> Material:
    """The material of that name."""
    if name not in MATERIALS:
        raise unknown("material", name, MATERIALS)
    return MATERIALS[name]
