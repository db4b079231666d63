"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

from dalembert.describe.description import (
    Box as Box,
    Capsule as Capsule,
    Cylinder as Cylinder,
    Description as Description,
    Drive as Drive,
    Inertial as Inertial,
    Joint as Joint,
    Limit as Limit,
    Link as Link,
    Loop as Loop,
    Mesh as Mesh,
    Mimic as Mimic,
    Origin as Origin,
    Shape as Shape,
    Sphere as Sphere,
)
from dalembert.describe.dh import DHRow as DHRow, DHTable as DHTable, check_dh_frames as check_dh_frames
