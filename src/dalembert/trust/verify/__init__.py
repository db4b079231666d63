"""An agreement certificate: many ways to the same numbers, compared at many states, and the cause where two differ."""

from dalembert.trust.verify.certificate import Certificate as Certificate
from dalembert.trust.verify.verify import verify as verify

__all__ = ["Certificate", "verify"]
