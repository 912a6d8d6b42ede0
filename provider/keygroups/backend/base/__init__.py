"""What every backend implements."""

from keygroups.backend.base.backend import Backend
from keygroups.backend.base.run import Plan, Run

__all__ = ["Backend", "Plan", "Run"]
