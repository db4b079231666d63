"""An agreement certificate: many ways to the same numbers, compared at many states, and the cause where two differ."""

from dalembert.verification.certificate import Certificate as Certificate
from dalembert.verification.verify import verify as verify

__all__ = ["Certificate", "verify"]
