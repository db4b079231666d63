"""python -m dalembert"""

from dalembert.apps.cli import main

main(prog_name="dalembert")
