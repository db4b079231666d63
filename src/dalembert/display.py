"""What notebooks show of a result."""


class Displayed:
    """A result that Jupyter, Colab, VS Code and marimo show as `dalembert.notebook` draws it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import dalembert  # the front door: what draws a result stands above it

        return dalembert.notebook.html_of(self)
