"""python -m dalembert"""

from dalembert.cli import main

main(prog_name="dalembert")
