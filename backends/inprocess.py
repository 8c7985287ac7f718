"""
The in-process providers: ``spawn`` starts a child afresh, ``fork`` with its parent's turns.

They are one class with one flag: a fork differs only in the seed that the runtime sends.
"""

from __future__ import annotations

from retinue.backends._inprocess.driver import BehaviourDriver
from retinue.backends._inprocess.model_driver import driver_of
from retinue.protocol.agent import Kind
from retinue.protocol.delegation import ALL_CAPABILITIES, Capabilities
from retinue.protocol.provider import OpenOrder, Workplace


class InProcess:
    """
    Runs behaviours in this process.

    Args:
        name: the name to register it under.
        inherits_context: whether children begin with their parent's completed turns.
    """

    def __init__(self, name: str = "spawn", *, inherits_context: bool = False) -> None:
        self.name = name
        self.inherits_context = inherits_context
        self.capabilities: Capabilities = ALL_CAPABILITIES
        self.accepts_seed = True
        self.is_immediate = True
        self.steers = True

    def __repr__(self) -> str:
        return f"<provider {self.name}>"

    def takes_time(self, order: OpenOrder) -> bool:
        """Whether a run needs a thread to open: a model's name may import, or read a file."""
        agent = order.agent
        is_model = agent is not None and agent.kind is Kind.MODEL
        return is_model and isinstance(order.options.get("model"), str)

    def open(self, order: OpenOrder, workplace: Workplace) -> BehaviourDriver:
        """
        Make the driver of one run.

        Raises:
            InvalidAgent: the start names no agent.
            MissingExtra: its model needs a package that is not installed.
        """
        return driver_of(order, workplace)


def spawn() -> InProcess:
    """Return the provider ``spawn``: a fresh child."""
    return InProcess("spawn")


def fork() -> InProcess:
    """Return the provider ``fork``: a child that begins with its parent's completed turns."""
    return InProcess("fork", inherits_context=True)
