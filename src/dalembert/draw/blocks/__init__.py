"""Block diagrams: as data, laid out on a grid, as SVG and as a matplotlib figure."""

from dalembert.draw.blocks.diagram import Diagram, Node, Signal, block, terminal, total

__all__ = ["Diagram", "Node", "Signal", "block", "terminal", "total"]
