"""Crocoddyl's side of `optimal.py`, run by the Python that has it: one JSON request a line, one answer a line."""

import json
import sys
import time

import crocoddyl
import numpy as np
import pinocchio as pin


class Reach:
    def __init__(self, given):
        model = pin.buildModelFromXML(
            given["urdf"].replace('version="1.2"', 'version="1.0"').replace('version="1.1"', 'version="1.0"')
        )
        model.armature = np.array(given["armature"])
        state = crocoddyl.StateMultibody(model)
        actuation = crocoddyl.ActuationModelFull(state)
        goal, frame = np.array(given["goal"]), model.getFrameId(given["frame"])
        rest = np.array(given["rest"])

        def costs(tip, keep, effort):
            total = crocoddyl.CostModelSum(state)
            where = crocoddyl.ResidualModelFrameTranslation(state, frame, goal[:3, 3])
            turn = crocoddyl.ResidualModelFrameRotation(state, frame, goal[:3, :3])
            total.addCost("where", crocoddyl.CostModelResidual(state, where), tip)
            total.addCost("turn", crocoddyl.CostModelResidual(state, turn), tip)
            total.addCost("rest", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, rest)), keep)
            if effort:
                total.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state)), effort)
            return total

        def action(costs, dt):
            differential = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
            return crocoddyl.IntegratedActionModelEuler(differential, dt)

        running = action(costs(*given["running"]), given["dt"])
        terminal = action(costs(*given["terminal"], 0.0), 0.0)
        N = given["N"]
        problem = crocoddyl.ShootingProblem(np.array(given["x0"]), [running] * N, terminal)
        problem.nthreads = 1
        self.solver = crocoddyl.SolverFDDP(problem)
        self.solver.th_stop = 1e-30
        self.xs = [np.array(given["x0"])] * (N + 1)
        self.us = [np.array(given["u0"])] * N

    def run(self, iterations, stop, repeats):
        self.solver.th_stop = stop
        begun = time.process_time()
        for _ in range(repeats):
            self.solver.solve(self.xs, self.us, iterations, False, 1e-9)
        return {
            "seconds": (time.process_time() - begun) / repeats,
            "iterations": self.solver.iter + (self.solver.stop > stop),
            "cost": self.solver.cost,
        }


reaches = {}
for line in sys.stdin:
    request = json.loads(line)
    if "make" in request:
        reaches[request["make"]] = Reach(request)
        answer = {}
    else:
        answer = reaches[request["run"]].run(request["iterations"], request["stop"], request["repeats"])
    print(json.dumps(answer), flush=True)
