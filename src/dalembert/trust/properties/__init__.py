"""The property lab: what every mechanism's equations have in common, stated, shown and measured.

lab           `lab`: all properties of a Robot, a LagrangianSystem, or of functions of your own, in one report
property      a property with its verdict, and a report of several
mechanism     the mechanism under test: its terms as functions, at many states
identities    properties proved as identities of polynomials
inertia       of M: symmetric, positive definite, bounded
coriolis      of c and C: quadratic, the choices of C, which of them keep Ṁ − 2C skew, and what that is worth
gravity       of g: a gradient, bounded, its work
energy        of the energy: power balance, passivity, losses, L₂ gain, loops of passive systems
linearity     of the parameters: τ = Y π, H = h π
"""

from dalembert.trust.properties.coriolis import (
    Choice,
    Choices,
    Skewness,
    bilinear,
    choices_of_c,
    coriolis_choices,
    coriolis_family,
    coriolis_matrix,
    family_in_symbols,
    mass_matrix_rate,
    skew_symmetry,
    skewness,
    velocity_torque_bounded,
    velocity_torque_quadratic,
    workless,
)
from dalembert.trust.properties.energy import (
    Books,
    Interconnection,
    dissipation,
    energy_books,
    feedback,
    interconnection,
    l2_gain,
    passivity,
    power_balance,
)
from dalembert.trust.properties.gravity import gravity_bounded, gravity_gradient, gravity_work, lowest_potential
from dalembert.trust.properties.inertia import (
    kinetic_energy,
    mass_matrix_bounded,
    mass_matrix_definite,
    mass_matrix_of_position,
    mass_matrix_symmetric,
)
from dalembert.trust.properties.lab import lab
from dalembert.trust.properties.linearity import energy_linear, energy_regressor, linear_in_parameters
from dalembert.trust.properties.mechanism import Mechanism
from dalembert.trust.properties.property import Property

__all__ = ["Books", "Choice", "Choices", "Interconnection", "Mechanism", "Property", "Skewness"]
__all__ += ["bilinear", "choices_of_c", "coriolis_choices", "coriolis_family", "coriolis_matrix", "dissipation"]
__all__ += ["energy_books", "energy_linear", "energy_regressor", "family_in_symbols", "feedback", "gravity_bounded"]
__all__ += ["gravity_gradient", "gravity_work", "interconnection", "kinetic_energy", "l2_gain", "lab"]
__all__ += ["linear_in_parameters", "lowest_potential", "mass_matrix_bounded", "mass_matrix_definite"]
__all__ += ["mass_matrix_of_position", "mass_matrix_rate", "mass_matrix_symmetric", "passivity", "power_balance"]
__all__ += ["skew_symmetry", "skewness", "velocity_torque_bounded", "velocity_torque_quadratic", "workless"]
