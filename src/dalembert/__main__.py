"""python -m dalembert, and the command dalembert."""

import signal


def run() -> None:
    """Run the command line. Until the body of a command runs, Ctrl-C ends the process by the system's own action: an
    exception in the middle of an import would end in a traceback, or nowhere."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if whoever started it ignores Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dalembert.apps.cli import main

    main(prog_name="dalembert")


if __name__ == "__main__":
    run()
