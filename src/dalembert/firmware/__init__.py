"""Laws on a chip: a controller with all it needs as one function `step(state, in, out)`, as machine code and as C.

cores   the processors, one row each
step    a law as a chip runs it, traced
make    the code, and the files around it
texts   what those files say
"""

from dalembert.firmware.cores import CORES, Core
from dalembert.firmware.make import Firmware, make_firmware, write_firmware
from dalembert.firmware.step import LawStep

__all__ = ["CORES", "Core", "Firmware", "LawStep", "make_firmware", "write_firmware"]
