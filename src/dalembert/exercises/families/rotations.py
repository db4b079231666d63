"""Rotations, frames and homogeneous transforms."""

from __future__ import annotations

import numpy as np

from dalembert.arguments import Array
from dalembert.exercises.exercise import Answer, Exercise, Wrong, family, lay_out, pick
from dalembert.exercises.writing import bracket, degrees, matrix, write
from dalembert.spatial.pose import Pose
from dalembert.spatial.rotation import axis_angle, exp3, from_rpy, log3, to_rpy
from dalembert.spatial.vector import cross, skew

TOPIC = "frames and rotations"
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Cosine and sine of angles in triangles with the sides 3, 4, 5.
TRIANGLES = ((0.6, 0.8), (0.8, 0.6), (0.6, -0.8), (0.8, -0.6), (-0.6, 0.8), (-0.8, 0.6))


def about(axis: str, angle: float) -> Array:
    """The rotation about a coordinate axis by an angle in degrees."""
    return np.array(axis_angle(AXES[axis], np.radians(angle)), float)


def small(random: np.random.Generator, n: int = 3, high: int = 5) -> Array:
    """Whole numbers of different sizes from 1 to `high`, of either sign."""
    return random.permutation(np.arange(1, high + 1))[:n] * random.choice([-1.0, 1.0], n)


def oblique(random: np.random.Generator) -> Array:
    """A unit vector of thirds."""
    return random.permutation([1, 2, 2]) * random.choice([-1, 1], 3) / 3


@family("compose-rotations", TOPIC, 1)
def compose_rotations(random: np.random.Generator) -> Exercise:
    """Two rotations after each other."""
    first, second = (str(axis) for axis in random.permutation(["x", "y", "z"])[:2])
    a, b = (pick(random, (-120, -90, -60, -30, 30, 60, 90, 120, 180)) for _ in range(2))
    R1, R2 = about(first, a), about(second, b)
    fixed = pick(random, (False, True))
    R, other = (R2 @ R1, R1 @ R2) if fixed else (R1 @ R2, R2 @ R1)
    which, side = (f"fixed ${second}_0$", "left") if fixed else (f"new ${second}_1$", "right")
    factors = [f"R_{first}({degrees(a)})", f"R_{second}({degrees(b)})"]
    product = r"\,".join(reversed(factors) if fixed else factors)
    order = (
        "The two factors are in the wrong order: a turn about an axis of the fixed frame multiplies from the left, one "
        "about an axis of the turned frame from the right."
    )
    back = "This is the transpose: it maps coordinates in frame 0 to the turned frame."
    wrong = (Wrong(other, order, 0.5), Wrong(R.T, back, 0.5))
    return lay_out(
        rf"""
        A frame that coincides with frame 0 is turned by ${degrees(a)}$ about the ${first}_0$ axis, then by
        ${degrees(b)}$ about the {which} axis. Give the rotation matrix $R$ that maps coordinates in the turned frame to
        coordinates in frame 0.
        ? Write down the two elementary rotation matrices first.
        ? A turn about an axis of the {"fixed" if fixed else "turned"} frame multiplies from the {side}.
        ? $R = {product}$.
        > The first turn is ${factors[0]} = {matrix(R1)}$, the second one ${factors[1]} = {matrix(R2)}$.
        > The second turn is about the {which} axis, so its matrix multiplies from the {side}: $R = {product}$.
        > $R = {matrix(R)}$.
        """,
        Answer("R", "matrix", R, points=2, size="a 3×3 matrix", wrong=wrong),
        values={"first": first, "second": second, "angles": (a, b), "fixed": fixed},
    )


@family("change-frame", TOPIC, 1)
def change_frame(random: np.random.Generator) -> Exercise:
    """The same vector in two frames."""
    axis, (c, s), inverse = pick(random, "xyz"), pick(random, TRIANGLES), pick(random, (False, True))
    R = np.array(axis_angle(AXES[axis], np.arctan2(s, c)))
    v = 5 * small(random, 3, high=4)
    given, asked, A = ("0", "1", R.T) if inverse else ("1", "0", R)
    formula = r"v^1 = R^\mathsf{T} v^0" if inverse else r"v^0 = R\,v^1"
    wrong = (
        Wrong(A.T @ v, "This is the product with the transposed matrix: the two frames are exchanged.", 0.5),
        Wrong(c * v, "A turn does not shrink a vector: cosine and sine mix two of the coordinates."),
    )
    return lay_out(
        rf"""
        Frame 1 is frame 0 turned about the ${axis}_0$ axis by an angle $\theta$ with $\cos\theta = {write(c)}$ and
        $\sin\theta = {write(s)}$. In frame {given} a vector has the coordinates $v^{given} = {matrix(v)}$. What are its
        coordinates $v^{asked}$ in frame {asked}?
        ? The columns of $R = R_{axis}(\theta)$ are the axes of frame 1, in coordinates of frame 0.
        ? $R$ maps coordinates in frame 1 to coordinates in frame 0, so ${formula}$.
        ? $R = {matrix(R)}$.
        > $R = R_{axis}(\theta) = {matrix(R)}$ maps coordinates in frame 1 to coordinates in frame 0.
        > ${formula} = {matrix(A)} {matrix(v)}$.{" The inverse of a rotation is its transpose." if inverse else ""}
        > $v^{asked} = {matrix(A @ v)}$; its length is that of $v^{given}$.
        """,
        Answer("v", "matrix", A @ v, size="three whole numbers", wrong=wrong),
        values={"axis": axis, "cos": c, "sin": s, "v": v, "inverse": inverse},
    )


@family("rpy-to-matrix", TOPIC, 1)
def rpy_to_matrix(random: np.random.Generator) -> Exercise:
    """The rotation matrix of roll, pitch and yaw."""
    slot = int(random.integers(3))  # one angle is no multiple of 90°
    any_angle, right_angles = (-120, -60, -30, 30, 60, 120), (-90, 90, 180)
    roll, pitch, yaw = (pick(random, any_angle if k == slot else right_angles) for k in range(3))
    Rx, Ry, Rz = about("x", roll), about("y", pitch), about("z", yaw)
    R = np.array(from_rpy((np.radians(roll), np.radians(pitch), np.radians(yaw))))
    wrong = (
        Wrong(Rx @ Ry @ Rz, "The factors are in the reverse order: URDF means $R_z R_y R_x$.", 0.5),
        Wrong(R.T, "This is the transpose: it maps coordinates in the parent frame to the child frame.", 0.5),
    )
    return lay_out(
        rf"""
        A joint of a URDF file has the origin `rpy` = (roll, pitch, yaw) =
        $({degrees(roll)}, {degrees(pitch)}, {degrees(yaw)})$; the file has it in radians. Give the rotation matrix $R$
        that maps coordinates in the child frame to coordinates in the parent frame.
        ? Roll, pitch and yaw are turns about the fixed axes $x$, $y$, $z$ of the parent, in this order.
        ? Turns about fixed axes multiply from the left:
        $R = R_z(\text{{yaw}})\,R_y(\text{{pitch}})\,R_x(\text{{roll}})$.
        > $R_z({degrees(yaw)}) = {matrix(Rz)}$, $R_y({degrees(pitch)}) = {matrix(Ry)}$,
        $R_x({degrees(roll)}) = {matrix(Rx)}$.
        > First $R_y R_x = {matrix(Ry @ Rx)}$.
        > Then $R = R_z (R_y R_x) = {matrix(R)}$.
        """,
        Answer("R", "matrix", R, points=2, size="a 3×3 matrix with four zeros", wrong=wrong),
        values={"rpy": (roll, pitch, yaw)},
    )


@family("matrix-to-rpy", TOPIC, 2)
def matrix_to_rpy(random: np.random.Generator) -> Exercise:
    """Roll, pitch and yaw of a rotation matrix."""
    roll, yaw = (pick(random, (-150, -120, -60, -30, 30, 60, 120, 150)) for _ in range(2))
    pitch = pick(random, (-60, -30, 30, 60))
    R = np.array(from_rpy((np.radians(roll), np.radians(pitch), np.radians(yaw))))
    found = np.degrees(to_rpy(tuple(map(tuple, R))))
    cos_pitch = write(float(np.hypot(R[0, 0], R[1, 0])))
    other = "The tangent leaves two angles, 180° apart; atan2 takes the one whose sine and cosine have the right signs."

    def turn(name: str, value: float, opposite: float) -> Answer:
        return Answer(name, "number", value, "deg", size="a multiple of 30°", wrong=(Wrong(opposite, other, 0.5),))

    pitch_wrong = (
        Wrong(-found[1], "The entry (3, 1) is minus the sine of the pitch.", 0.5),
        Wrong(90 - found[1], "Sine and cosine of the pitch are exchanged.", 0.25),
    )
    return lay_out(
        rf"""
        The rotation matrix

        $$R = {matrix(R)}$$

        is $R_z(\text{{yaw}})\,R_y(\text{{pitch}})\,R_x(\text{{roll}})$. Find roll, pitch and yaw in degrees, the pitch
        between $-90^\circ$ and $90^\circ$.
        ? Multiply the three matrices out in symbols; the first column and the last row are short.
        ? The first column is $(\cos y \cos p,\ \sin y \cos p,\ -\sin p)$ with pitch $p$ and yaw $y$.
        ? The last row is $(-\sin p,\ \cos p \sin r,\ \cos p \cos r)$ with roll $r$; use atan2.
        > $\sin p = -r_{{31}} = {write(-R[2, 0])}$, and $\cos p = \sqrt{{r_{{11}}^2 + r_{{21}}^2}} = {cos_pitch}$ is
        positive: pitch $= {degrees(round(found[1]))}$.
        > yaw $= \operatorname{{atan2}}(r_{{21}}, r_{{11}})
        = \operatorname{{atan2}}({write(R[1, 0])}, {write(R[0, 0])}) = {degrees(round(found[2]))}$.
        > roll $= \operatorname{{atan2}}(r_{{32}}, r_{{33}})
        = \operatorname{{atan2}}({write(R[2, 1])}, {write(R[2, 2])}) = {degrees(round(found[0]))}$.
        """,
        turn("roll", found[0], found[0] + 180),
        Answer("pitch", "number", found[1], "deg", size="a multiple of 30°", wrong=pitch_wrong),
        turn("yaw", found[2], found[2] + 180),
        values={"R": R},
    )


@family("axis-and-angle", TOPIC, 2)
def axis_and_angle(random: np.random.Generator) -> Exercise:
    """Axis and angle of a rotation matrix."""
    c, s, angle = pick(random, ((0.6, 0.8, 53.13), (-0.6, 0.8, 126.87), (0.8, 0.6, 36.87), (0.0, 1.0, 90.0)))
    axis = oblique(random)
    R = np.array(axis_angle(tuple(axis), np.arctan2(s, c)))
    w = np.array(log3(tuple(map(tuple, R))))
    theta = float(np.linalg.norm(w))
    k, trace = w / theta, float(np.trace(R))
    differences = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    scaled = 45 if c else 9
    angle_wrong = (
        Wrong(np.degrees(np.arccos(trace / 3)), r"The trace is $1 + 2\cos\theta$, not $3\cos\theta$."),
        Wrong(
            np.degrees(np.arccos(np.clip(trace / 2, -1, 1))), r"The trace is $1 + 2\cos\theta$: subtract the 1.", 0.5
        ),
    )
    axis_wrong = (
        Wrong(-k, r"This is the opposite axis: it belongs to the angle $-\theta$.", 0.5),
        Wrong(differences, r"This has the right direction, but is not of length 1: divide by $2\sin\theta$.", 0.5),
    )
    return lay_out(
        rf"""
        Find the angle $\theta$, between $0$ and $180^\circ$, and the unit vector $k$ along the axis of the rotation

        $$R = \frac{{1}}{{{scaled}}} {matrix(np.round(scaled * R, 9))}.$$
        ? The trace of a rotation matrix is $1 + 2\cos\theta$.
        ? $R - R^\mathsf{{T}} = 2 \sin\theta\, S(k)$ holds the axis.
        > $\cos\theta = (\operatorname{{tr}} R - 1)/2 = ({write(trace)} - 1)/2 = {write(c)}$, so
        $\theta = {write(angle)}^\circ$ and $\sin\theta = {write(s)}$.
        > The axis is $k = \frac{{1}}{{2\sin\theta}}(r_{{32}} - r_{{23}},\ r_{{13}} - r_{{31}},\ r_{{21}} - r_{{12}})$.
        The three differences are $({", ".join(map(write, differences))})$, and $2\sin\theta = {write(2 * s)}$.
        > $k = {matrix(k)}$, of length 1.
        """,
        Answer("theta", "number", np.degrees(theta), "deg", size="an angle of a 3-4-5 triangle", wrong=angle_wrong),
        Answer("k", "matrix", k, size="three thirds", wrong=axis_wrong),
        values={"R": R},
    )


@family("rodrigues", TOPIC, 2)
def rodrigues(random: np.random.Generator) -> Exercise:
    """A vector turned about an oblique axis."""
    k, angle = oblique(random), pick(random, (90, 180, 270))
    v = 3.0 * small(random, 3, high=3)
    R = np.array(exp3(tuple(np.radians(angle) * k)))
    c, s = (round(float(f(np.radians(angle)))) for f in (np.cos, np.sin))
    kv, along = np.cross(k, v), float(k @ v)
    wrong = (
        Wrong(
            v * c - kv * s + k * along * (1 - c), "Turned the wrong way round: the right-hand rule is the sense.", 0.5
        )
        if s
        else Wrong(-v, r"This is right only for a vector across the axis: the part along $k$ stays.", 0.25),
        Wrong(v * c + kv * s, r"The part $k (k \cdot v)(1 - \cos\theta)$ along the axis is missing.", 0.5)
        if s
        else Wrong(k * along, r"This is the part along $k$ alone; the part across is turned, not lost.", 0.25),
    )
    return lay_out(
        rf"""
        Turn the vector $v = {matrix(v)}$ by ${degrees(angle)}$ about the axis $k = \frac13 {matrix(np.round(3 * k))}$
        through the origin. What is the turned vector $v'$?
        ? Split the vector into its part along the axis, which stays, and the part across, which turns.
        ? Rodrigues: $v' = v\cos\theta + (k \times v)\sin\theta + k (k \cdot v)(1 - \cos\theta)$.
        ? $k \cdot v = {write(along)}$ and $k \times v = {matrix(kv)}$.
        > $\cos\theta = {c}$, $\sin\theta = {s}$, $k \cdot v = {write(along)}$, $k \times v = {matrix(kv)}$.
        > $v' = v\cos\theta + (k \times v)\sin\theta + k (k \cdot v)(1 - \cos\theta)
        = {matrix(v * c)} + {matrix(kv * s)} + {matrix(k * along * (1 - c))}$.
        > $v' = {matrix(R @ v)}$; its length is that of $v$.
        """,
        Answer("v", "matrix", R @ v, size="three numbers", points=2, wrong=wrong),
        values={"axis": k, "angle": angle, "v": v},
    )


@family("skew-matrix", TOPIC, 1)
def skew_matrix(random: np.random.Generator) -> Exercise:
    """The velocity of a point of a turning body."""
    w, r = small(random), small(random, high=3)
    S, v = np.array(skew(tuple(w))), np.array(cross(tuple(w), tuple(r)))
    i = (1, 2, 0, 1)
    rows = [
        rf"{bracket(w[i[a]])} \cdot {bracket(r[i[a + 1]])} - {bracket(w[i[a + 1]])} \cdot {bracket(r[i[a]])}"
        for a in range(3)
    ]
    wrong = (
        Wrong(-v, r"This is $r \times \omega$: the order of a cross product matters.", 0.5),
        Wrong(w * r, "Entries were multiplied one by one; the cross product mixes them."),
    )
    minus = Wrong(-S, r"This is $S(-\omega)$: the entry (2, 1) of $S(\omega)$ is $+\omega_z$.", 0.5)
    return lay_out(
        rf"""
        A body turns about a fixed point $O$ with the angular velocity $\omega = {matrix(w)}$ rad/s. Give the matrix
        $S = S(\omega)$ with $S(\omega)\,x = \omega \times x$ for every vector $x$, and the velocity $v$ of the point of
        the body at $r = {matrix(r)}$ m from $O$.
        ? The diagonal is zero and the matrix is antisymmetric: three numbers fill it.
        ? $S(\omega) = \begin{{bmatrix}} 0 & -\omega_z & \omega_y \\ \omega_z & 0 & -\omega_x \\
        -\omega_y & \omega_x & 0 \end{{bmatrix}}$ and $v = S(\omega)\,r$.
        > With $\omega = ({", ".join(map(write, w))})$ rad/s: $S(\omega) = {matrix(S)}$ 1/s.
        > $v = \omega \times r = {matrix(rows)} = {matrix(v)}$ m/s.
        """,
        Answer("S", "matrix", S, "rad/s", size="a 3×3 matrix with zeros on its diagonal", wrong=(minus,)),
        Answer("v", "matrix", v, "m/s", size="three whole numbers", wrong=wrong),
        values={"omega": w, "r": r},
    )


@family("invert-transform", TOPIC, 1)
def invert_transform(random: np.random.Generator) -> Exercise:
    """The inverse of a homogeneous transform."""
    axis, (c, s), p = pick(random, "xyz"), pick(random, TRIANGLES), 5 * small(random, 3, high=3)
    pose = Pose(axis_angle(AXES[axis], np.arctan2(s, c)), tuple(p))
    T, R, inverse = np.array(pose.matrix()), np.array(pose.R), np.array(pose.inverse().matrix())
    minus, half = inverse.copy(), T.copy()
    minus[:3, 3], half[:3, :3] = -p, R.T
    wrong = (
        Wrong(minus, r"The rotation is right; the position is not $-p$ but $-R^\mathsf{T} p$.", 0.5),
        Wrong(half, r"Only the rotation was inverted; the position must become $-R^\mathsf{T} p$.", 0.25),
    )
    return lay_out(
        rf"""
        The pose of a camera in the frame of a robot's base is (lengths in meters)

        $$T = {matrix(T)}.$$

        Give the inverse $T^{{-1}}$, the pose of the base in the frame of the camera.
        ? No elimination is needed: the inverse of a rotation is its transpose.
        ? Solve $y = R x + p$ for $x$: the new position is $-R^\mathsf{{T}} p$.
        > From $y = R x + p$ follows $x = R^\mathsf{{T}} y - R^\mathsf{{T}} p$.
        > $R^\mathsf{{T}} = {matrix(R.T)}$ and $-R^\mathsf{{T}} p = -{matrix(R.T)} {matrix(p)} = {matrix(-R.T @ p)}$.
        > $T^{{-1}} = {matrix(inverse)}$.
        """,
        Answer(
            "T", "matrix", inverse, size="a 4×4 matrix with whole numbers in its last column", points=2, wrong=wrong
        ),
        T=T,
    )


@family("chain-of-frames", TOPIC, 2)
def chain_of_frames(random: np.random.Generator) -> Exercise:
    """An object seen by a camera, in the frame of the base."""
    a, b = (str(axis) for axis in random.permutation(["x", "y", "z"])[:2])
    alpha, beta = (pick(random, (-90, 90, 180)) for _ in range(2))
    camera = Pose(axis_angle(AXES[a], np.radians(alpha)), tuple(small(random, 3, high=4)))
    seen = Pose(axis_angle(AXES[b], np.radians(beta)), tuple(small(random, 3, high=4)))
    found = camera @ seen
    R, p, Rc, pc, Ro, po = (np.round(x, 12) for x in (found.R, found.p, camera.R, camera.p, seen.R, seen.p))
    p_wrong = (
        Wrong(pc + po, "Positions add up only if both are in the same axes: turn the second one first."),
        Wrong(po + Ro @ pc, "The transforms are multiplied in the reverse order."),
    )
    R_wrong = (
        Wrong(Ro @ Rc, "The rotations are multiplied in the reverse order.", 0.5),
        Wrong(R.T, "This is the transpose, from the base to the object.", 0.5),
    )
    return lay_out(
        rf"""
        A camera stands at $p_{{0c}} = {matrix(pc)}$ m in the base frame 0; its axes are those of frame 0 turned by
        ${degrees(alpha)}$ about ${a}_0$. It sees an object at $p_{{co}} = {matrix(po)}$ m in its own frame $c$; the
        axes of the object are those of the camera turned by ${degrees(beta)}$ about ${b}_c$. Give the position $p$ of the
        object and its rotation matrix $R$ in frame 0.
        ? Neighboring indices cancel: $T_{{0o}} = T_{{0c}}\,T_{{co}}$.
        ? Written out: $R = R_{{0c}} R_{{co}}$ and $p = p_{{0c}} + R_{{0c}}\,p_{{co}}$.
        > $R_{{0c}} = R_{a}({degrees(alpha)}) = {matrix(Rc)}$ and $R_{{co}} = R_{b}({degrees(beta)}) = {matrix(Ro)}$.
        > $p = p_{{0c}} + R_{{0c}}\,p_{{co}} = {matrix(pc)} + {matrix(Rc @ po)} = {matrix(p)}$ m.
        > $R = R_{{0c}} R_{{co}} = {matrix(R)}$.
        """,
        Answer("p", "matrix", p, "m", size="three whole numbers", wrong=p_wrong),
        Answer("R", "matrix", R, size="a 3×3 matrix of 0, 1 and −1", wrong=R_wrong),
        values={"axes": (a, b), "turns": (alpha, beta), "p_camera": pc, "p_object": po},
    )
