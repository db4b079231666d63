# compare: robot.limits.velocity = model.upperVelocityLimit
# tolerance: 1e-12
import pinocchio as pin

model = pin.buildModelFromUrdf("ur5e.urdf")
print(model)
print(list(model.names)[1:])
print(model.upperVelocityLimit)
