"""What is seen, taken along: a picture, the scene as a page, the state as JSON, the run as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.apps.studio.panel import Panel
from dalembert.errors import DalembertError, InputError
from dalembert.names import file_name, in_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from viser import ClientHandle, GuiButtonHandle, GuiEvent

    from dalembert.apps.studio.studio import Studio

WIDTH, HEIGHT = 1920, 1200  # of a picture


class ExportPanel(Panel):
    """Each button sends a file to the page where it was pressed."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        name = file_name(studio.robot.name)
        self._file("Picture (PNG)", "photo", f"{name}.png", picture)
        self._file("Scene to turn (HTML)", "cube", f"{name}.html", lambda _: self.scene())
        self._file("State (JSON)", "braces", f"{name}.json", lambda _: self.state())
        self._file("Simulation (CSV)", "table", f"{name}.csv", lambda _: self.run())
        self.q = self.gui.add_text("q", "", multiline=True, hint="Joint positions [rad, m], to copy.")

    def _file(self, label: str, icon: str, name: str, make: Callable[[ClientHandle], bytes]) -> None:
        button = self.gui.add_button(label, icon=icon)

        def pressed(
            event: GuiEvent[GuiButtonHandle],
        ) -> None:  # in a thread of viser's: a picture waits for the page, the worker must not
            try:
                event.client.send_file_download(name, make(event.client), save_immediately=True)
            except DalembertError as error:
                self.studio.say(str(error))

        button.on_click(pressed)

    def scene(self) -> bytes:
        """The scene as one HTML file that needs no server."""
        return str(self.studio.server.get_scene_serializer().as_html()).encode()

    def state(self) -> bytes:
        """Robot, joints, tip, payload and torques as JSON."""
        data = self.studio.worker.call(self.studio.state)
        return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def run(self) -> bytes:
        """What the simulation showed so far, a line per row."""
        live = self.studio.run.live
        if live is None:
            raise InputError("there is no simulation to export: start one first")
        columns = self.studio.worker.call(live.table)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(in_table, columns))
        writer.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))
        return text.getvalue().encode()

    def show(self, q: NDArray[np.float64]) -> None:
        self.q.value = "[" + ", ".join(f"{x:.6g}" for x in q.tolist()) + "]"


def picture(client: ClientHandle) -> bytes:
    """What that page sees, without its panel, as PNG."""
    from imageio.v3 import imwrite

    image = client.get_render(height=HEIGHT, width=WIDTH)
    return bytes(imwrite("<bytes>", image, extension=".png"))
