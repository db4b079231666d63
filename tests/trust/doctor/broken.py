"""A well-made arm, and the edits that break it: one defect each, with the rule that must find it and the line."""

# A table: one defect a line, however long.

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

GOOD = """\
<?xml version="1.0"?>
<!-- a small arm: every number fits every other -->
<robot name="arm">
  <material name="gray"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <inertial>
      <origin xyz="0 0 0.05" rpy="0 0 0"/>
      <mass value="4.0"/>
      <inertia ixx="0.0166667" ixy="0" ixz="0" iyy="0.0166667" iyz="0" izz="0.0266667"/>
    </inertial>
    <visual>
      <origin xyz="0 0 0.05" rpy="0 0 0"/>
      <geometry><box size="0.2 0.2 0.1"/></geometry>
      <material name="gray"/>
    </visual>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2"/>
      <mass value="3.0"/>
      <inertia ixx="0.041875" ixy="0" ixz="0" iyy="0.041875" iyz="0" izz="0.00375"/>
    </inertial>
    <collision>
      <origin xyz="0 0 0.2"/>
      <geometry><cylinder radius="0.05" length="0.4"/></geometry>
    </collision>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0.15 0 0"/>
      <mass value="1.0"/>
      <inertia ixx="0.0006" ixy="0" ixz="0" iyy="0.0078" iyz="0" izz="0.0078"/>
    </inertial>
    <visual>
      <origin xyz="0.15 0 0"/>
      <geometry><box size="0.3 0.06 0.06"/></geometry>
    </visual>
  </link>
  <link name="left">
    <inertial>
      <origin xyz="0 0.01 0"/>
      <mass value="0.1"/>
      <inertia ixx="3.6e-05" ixy="0" ixz="0" iyy="3.6e-05" iyz="0" izz="3.6e-05"/>
    </inertial>
    <visual>
      <geometry><mesh filename="meshes/cube.stl" scale="0.06 0.06 0.06"/></geometry>
    </visual>
  </link>
  <link name="right">
    <inertial>
      <mass value="0.1"/>
      <inertia ixx="3.6e-05" ixy="0" ixz="0" iyy="3.6e-05" iyz="0" izz="3.6e-05"/>
    </inertial>
    <visual>
      <geometry><sphere radius="0.03"/></geometry>
    </visual>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.1" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 0 1"/>
    <limit lower="-2.9" upper="2.9" effort="80" velocity="2.5"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="elbow" type="continuous">
    <origin xyz="0 0 0.4"/>
    <parent link="upper"/>
    <child link="fore"/>
    <axis xyz="0 1 0"/>
    <limit effort="40" velocity="3"/>
  </joint>
  <joint name="grip" type="prismatic">
    <origin xyz="0.32 0.02 0"/>
    <parent link="fore"/>
    <child link="left"/>
    <axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="0.1"/>
    <safety_controller soft_lower_limit="0.001" soft_upper_limit="0.039" k_velocity="1"/>
  </joint>
  <joint name="follow" type="prismatic">
    <origin xyz="0.32 -0.02 0"/>
    <parent link="fore"/>
    <child link="right"/>
    <axis xyz="0 1 0"/>
    <limit lower="-0.04" upper="0" effort="20" velocity="0.1"/>
    <mimic joint="grip" multiplier="-1"/>
  </joint>
  <joint name="flange" type="fixed">
    <origin xyz="0.36 0 0"/>
    <parent link="fore"/>
    <child link="tool"/>
  </joint>
  <transmission name="drive"><joint name="shoulder"/></transmission>
  <gazebo reference="tool"/>
</robot>
"""


@dataclass(frozen=True)
class Defect:
    """Replace `old` by `new`; the finding is on the line where `at` begins after that (else where `new` begins).

    `also` are the rules that the same defect breaks as well."""

    rule: str
    old: str
    new: str
    at: str | None = None
    also: tuple[str, ...] = ()
    fixable: bool = False
    after: int = 0  # lines further down

    @property
    def text(self) -> str:
        assert GOOD.count(self.old) == 1, (self.old, GOOD.count(self.old))
        return GOOD.replace(self.old, self.new)

    @property
    def line(self) -> int:
        text, anchor = self.text, self.at if self.at is not None else self.new
        assert anchor in text, anchor
        at = text.index(anchor)
        return text.count("\n", 0, at + len(anchor) - len(anchor.lstrip())) + 1 + self.after


SHOULDER = 'lower="-2.9" upper="2.9" effort="80" velocity="2.5"'
UPPER = 'ixx="0.041875" ixy="0" ixz="0" iyy="0.041875" iyz="0" izz="0.00375"'
FORE = 'ixx="0.0006" ixy="0" ixz="0" iyy="0.0078" iyz="0" izz="0.0078"'
FOLLOW = '<mimic joint="grip" multiplier="-1"/>'

DEFECTS: dict[str, Defect] = {
    # syntax
    "a tag is not closed": Defect("D101", '  </joint>\n  <joint name="elbow"', '  <joint name="elbow"', "</robot>"),
    "a quote is missing": Defect("D101", 'name="upper">', "name=upper>", "<link name=upper>"),
    "an ampersand": Defect("D101", '<link name="tool"/>', '<link name="tool & more"/>', '<link name="tool &'),
    "a file cut off": Defect("D101", GOOD[GOOD.index("  <transmission") :], "", '<child link="tool"/>', after=2),
    "another format": Defect("D102", GOOD[GOOD.index("<robot") :], '<sdf version="1.7"/>\n'),
    "xacro in the file": Defect(
        "D104", '  <link name="tool"/>', '  <link name="tool"/>\n  <xacro:arm side="left"/>', "<xacro"
    ),
    "xacro in a number": Defect("D104", '<mass value="3.0"/>', '<mass value="${m}"/>'),
    "a misspelt element": Defect("D105", '<limit effort="40"', '<limits effort="40"'),
    "a misspelt attribute": Defect("D106", '<origin xyz="0 0 0.4"/>', '<origin xzy="0 0 0.4"/>'),
    "no mass in an inertial": Defect(
        "D107", '      <mass value="3.0"/>\n', "", '<inertial>\n      <origin xyz="0 0 0.2"/>\n      <inertia'
    ),
    "no inertia in an inertial": Defect(
        "D107", f"      <inertia {UPPER}/>\n", "", '<inertial>\n      <origin xyz="0 0 0.2"/>'
    ),
    "a joint without child": Defect(
        "D107", '    <child link="upper"/>\n', "", '<joint name="shoulder"', also=("D117",)
    ),
    "a link without name": Defect("D107", '<link name="tool"/>', "<link/>", also=("D114", "D117", "D128")),
    "a mesh without file name": Defect("D107", 'filename="meshes/cube.stl" ', "", "<mesh"),
    "letters in a number": Defect("D108", '<mass value="3.0"/>', '<mass value="3.0kg"/>'),
    "commas between numbers": Defect("D108", '<axis xyz="0 0 1"/>', '<axis xyz="0, 0, 1"/>', fixable=True),
    "two numbers for three": Defect("D109", '<origin xyz="0 0 0.4"/>', '<origin xyz="0 0.4"/>'),
    "four numbers for three": Defect("D109", 'size="0.3 0.06 0.06"', 'size="0.3 0.06 0.06 1"', '<box size="0.3'),
    "NaN mass": Defect("D110", '<mass value="3.0"/>', '<mass value="nan"/>'),
    "infinite effort": Defect("D110", 'effort="80"', 'effort="inf"', '<limit lower="-2.9"', fixable=True),
    "infinite position limits": Defect(
        "D110", SHOULDER, 'lower="-inf" upper="inf" effort="80" velocity="2.5"', '<limit lower="-inf"', fixable=True
    ),
    "an exponent too large": Defect("D110", '<mass value="3.0"/>', '<mass value="1e999"/>'),
    "two axes": Defect(
        "D111",
        '<axis xyz="0 0 1"/>',
        '<axis xyz="0 0 1"/>\n    <axis xyz="0 1 0"/>',
        '<axis xyz="0 1 0"/>\n    <limit lower="-2.9"',
    ),
    "the same mass twice": Defect(
        "D111",
        '<mass value="3.0"/>',
        '<mass value="3.0"/>\n      <mass value="3.0"/>',
        '<mass value="3.0"/>\n      <inertia',
        fixable=True,
    ),
    # structure
    "no links": Defect("D103", GOOD[GOOD.index("  <material") : GOOD.index("</robot>")], "", "<robot"),
    "two links of one name": Defect(
        "D112", '<link name="tool"/>', '<link name="fore"/>', also=("D114", "D117", "D128")
    ),
    "two joints of one name": Defect(
        "D112", '<joint name="flange"', '<joint name="elbow"', '<joint name="elbow" type="fixed"'
    ),
    "an unknown parent": Defect("D114", '<parent link="upper"/>', '<parent link="uper"/>'),
    "an unknown child": Defect("D114", '<child link="tool"/>', '<child link="tools"/>', also=("D117",)),
    "two parents": Defect(
        "D115", '<child link="tool"/>', '<child link="right"/>', '<joint name="flange"', also=("D117",)
    ),
    "a cycle": Defect("D116", '<parent link="base"/>', '<parent link="fore"/>', '<joint name="shoulder"'),
    "a joint on itself": Defect("D116", '<parent link="base"/>', '<parent link="upper"/>', '<joint name="shoulder"'),
    "a link in the air": Defect(
        "D117", '<link name="tool"/>', '<link name="tool"/>\n  <link name="lost"/>', '<link name="lost"'
    ),
    "an unknown joint type": Defect("D118", 'name="elbow" type="continuous"', 'name="elbow" type="rotary"'),
    "a planar joint with limits": Defect(
        "D119", 'shoulder" type="revolute"', 'shoulder" type="planar"', '<limit lower="-2.9"'
    ),
    "an unknown master": Defect("D120", FOLLOW, '<mimic joint="gripp"/>'),
    "a joint that mimics itself": Defect("D120", FOLLOW, '<mimic joint="follow"/>'),
    "a master that is fixed": Defect("D120", FOLLOW, '<mimic joint="flange"/>'),
    "no robot name": Defect("D122", '<robot name="arm">', "<robot>", fixable=True),
    "a blank in a name": Defect("D124", '<joint name="flange"', '<joint name="flange "'),
    "a lost bracket": Defect("D125", '<origin xyz="0 0 0.4"/>', 'origin xyz="0 0 0.4"', '<joint name="elbow"'),
    "an empty geometry": Defect("D127", '<geometry><sphere radius="0.03"/></geometry>', "<geometry/>"),
    "two shapes in a geometry": Defect(
        "D127", '<sphere radius="0.03"/>', '<sphere radius="0.03"/><box size="1 1 1"/>', "<geometry><sphere"
    ),
    "gazebo of nothing": Defect("D128", '<gazebo reference="tool"/>', '<gazebo reference="tol"/>'),
    "a transmission of nothing": Defect("D128", '<joint name="shoulder"/>', '<joint name="sholder"/>', "<transmission"),
    "a loop of an unknown type": Defect(
        "D129", "  <gazebo", '  <loop_joint name="k" type="magnet"/>\n  <gazebo', "<loop_joint"
    ),
    "a link in a joint": Defect(
        "D130", '<child link="tool"/>', '<child link="tool"/>\n    <link name="lost"/>', '<link name="lost"'
    ),
    "an inertial in a joint": Defect(
        "D130",
        '<parent link="upper"/>',
        '<parent link="upper"/>\n    <inertial><mass value="1"/></inertial>',
        "<inertial><mass",
    ),
    "a limit in the robot": Defect(
        "D130",
        '  <link name="tool"/>',
        '  <link name="tool"/>\n  <limit lower="0" upper="1"/>',
        '<limit lower="0" upper="1"',
    ),
    "a mass in a link": Defect("D130", '<link name="tool"/>', '<link name="tool"><mass value="0.1"/></link>'),
    "an inertia in a link": Defect(
        "D130", '<link name="tool"/>', '<link name="tool">\n    <inertia ixx="1"/>\n  </link>', '<inertia ixx="1"/>'
    ),
    "an origin in a link": Defect("D130", '<link name="tool"/>', '<link name="tool"><origin xyz="0 0 1"/></link>'),
    "a material in a geometry": Defect(
        "D130", '<sphere radius="0.03"/>', '<sphere radius="0.03"/><material name="gray"/>', "<geometry><sphere"
    ),
    "blank lines before the declaration": Defect(
        "D131", '<?xml version="1.0"?>', '\n\n<?xml version="1.0"?>', "\n\n<?xml", after=-2
    ),
    "a blank before the declaration": Defect("D131", '<?xml version="1.0"?>', ' <?xml version="1.0"?>', " <?xml"),
    "text before the declaration": Defect("D101", '<?xml version="1.0"?>', 'arm <?xml version="1.0"?>'),
    "a comment before the declaration": Defect("D101", '<?xml version="1.0"?>', '<!-- arm --><?xml version="1.0"?>'),
    # masses and inertias
    "a negative mass": Defect("D201", '<mass value="3.0"/>', '<mass value="-3.0"/>'),
    "inertia without mass": Defect("D202", '<mass value="3.0"/>', '<mass value="0"/>'),
    "an indefinite inertia": Defect(
        "D203", UPPER, UPPER.replace('izz="0.00375"', 'izz="-0.00375"'), f"<inertia {UPPER[:30]}", fixable=True
    ),
    "products too large": Defect(
        "D203", UPPER, UPPER.replace('ixy="0"', 'ixy="0.08"'), '<inertia ixx="0.041875"', also=("D223",), fixable=True
    ),
    "the triangle inequality": Defect(
        "D204", UPPER, UPPER.replace('izz="0.00375"', 'izz="0.09"'), '<inertia ixx="0.041875"', fixable=True
    ),
    "an indefinite inertia on the base": Defect(
        "D213", 'izz="0.0266667"', 'izz="-0.0266667"', '<inertia ixx="0.0166667"', fixable=True
    ),
    "a point mass": Defect("D205", FORE, 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"', '<inertia ixx="0"'),
    "a moving link without mass": Defect(
        "D206",
        GOOD[
            GOOD.index('    <inertial>\n      <mass value="0.1"/>') : GOOD.index(
                "    <visual>\n      <geometry><sphere"
            )
        ],
        "",
        '<link name="right">',
    ),
    "a tiny mass": Defect("D209", '<mass value="1.0"/>', '<mass value="1e-9"/>', also=("D222", "D223")),
    "a huge mass": Defect("D210", '<mass value="1.0"/>', '<mass value="1e7"/>', also=("D221", "D224")),
    "a tiny inertia": Defect(
        "D211",
        FORE,
        'ixx="1e-13" ixy="0" ixz="0" iyy="1e-13" iyz="0" izz="1e-13"',
        '<inertia ixx="1e-13"',
        also=("D224",),
    ),
    "a center of mass outside": Defect(
        "D220",
        '<origin xyz="0.15 0 0"/>\n      <mass',
        '<origin xyz="0.5 0 0"/>\n      <mass',
        '<origin xyz="0.5 0 0"/>',
    ),
    "a center of mass in millimeters": Defect(
        "D220",
        '<origin xyz="0.15 0 0"/>\n      <mass',
        '<origin xyz="150 0 0"/>\n      <mass',
        '<origin xyz="150 0 0"/>',
    ),
    "a mass in grams": Defect("D221", '<mass value="3.0"/>', '<mass value="3000"/>', also=("D224",)),
    "lighter than air": Defect("D222", '<mass value="3.0"/>', '<mass value="0.003"/>', also=("D223",)),
    "an inertia too large": Defect(
        "D223", FORE, 'ixx="0.06" ixy="0" ixz="0" iyy="0.78" iyz="0" izz="0.78"', '<inertia ixx="0.06"'
    ),
    "an inertia too small": Defect(
        "D224", FORE, 'ixx="6e-8" ixy="0" ixz="0" iyy="7.8e-7" iyz="0" izz="7.8e-7"', '<inertia ixx="6e-8"'
    ),
    "an inertia in g mm²": Defect(
        "D225",
        FORE,
        'ixx="600000" ixy="0" ixz="0" iyy="7800000" iyz="0" izz="7800000"',
        '<inertia ixx="600000"',
        fixable=True,
    ),
    "an inertia in kg mm²": Defect(
        "D225",
        UPPER,
        'ixx="41875" ixy="0" ixz="0" iyy="41875" iyz="0" izz="3750"',
        '<inertia ixx="41875"',
        fixable=True,
    ),
    # joints
    "an axis of zero": Defect("D301", '<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'),
    "an axis of length two": Defect("D302", '<axis xyz="0 0 1"/>', '<axis xyz="0 0 2"/>', fixable=True),
    "a skew axis that is no unit vector": Defect("D302", '<axis xyz="0 0 1"/>', '<axis xyz="1 2 3"/>', fixable=True),
    "no axis": Defect("D303", '    <axis xyz="0 0 1"/>\n', "", '<joint name="shoulder"'),
    "a left-handed axis": Defect("D304", '<axis xyz="0 0 1"/>', '<axis xyz="0 0 -1"/>'),
    "limits swapped": Defect(
        "D305", SHOULDER, 'lower="2.9" upper="-2.9" effort="80" velocity="2.5"', '<limit lower="2.9"', fixable=True
    ),
    "no position limits": Defect("D306", SHOULDER, 'effort="80" velocity="2.5"', '<limit effort="80"'),
    "no limit at all": Defect("D307", f"    <limit {SHOULDER}/>\n", "", '<joint name="shoulder"'),
    "limits in degrees": Defect(
        "D308", SHOULDER, 'lower="-165" upper="165" effort="80" velocity="2.5"', '<limit lower="-165"'
    ),
    "limits that are none": Defect(
        "D330", SHOULDER, 'lower="-1.79769e+308" upper="1e16" effort="80" velocity="2.5"', '<limit lower="-1.79769e'
    ),
    "limits of a continuous joint": Defect(
        "D309", '<limit effort="40"', '<limit lower="-1" upper="1" effort="40"', fixable=True
    ),
    "a negative effort": Defect("D310", 'effort="80"', 'effort="-80"', '<limit lower="-2.9"', fixable=True),
    "a negative velocity": Defect("D310", 'velocity="2.5"', 'velocity="-2.5"', '<limit lower="-2.9"', fixable=True),
    "an effort of zero": Defect("D312", 'effort="80"', 'effort="0"', '<limit lower="-2.9"'),
    "a blank after a number": Defect("D132", '<mass value="3.0"/>', '<mass value="3.0 "/>', fixable=True),
    "a tab between numbers": Defect("D132", 'xyz="0 0 0.4"', 'xyz="0 0\t0.4"', fixable=True),
    "a line break as a reference": Defect("D132", '<mass value="3.0"/>', '<mass value="3.0&#10;"/>', fixable=True),
    "a blank after a soft limit": Defect(
        "D132", f"<limit {SHOULDER}/>", f'<limit {SHOULDER}/><safety_controller k_velocity="9 "/>', fixable=True
    ),
    "a safety controller without its gain": Defect(
        "D133", f"<limit {SHOULDER}/>", f'<limit {SHOULDER}/><safety_controller k_position="9"/>'
    ),
    "a calibration that is no number": Defect(
        "D133", f"<limit {SHOULDER}/>", f'<limit {SHOULDER}/><calibration rising="1,5"/>'
    ),
    "dynamics of nothing": Defect("D133", '<dynamics damping="0.1" friction="0.2"/>', "<dynamics/>", fixable=True),
    "two materials of one name": Defect(
        "D134",
        '<link name="base">',
        '<material name="gray"><color rgba="0.5 0.5 0.5 1"/></material><link name="base">',
        fixable=True,
    ),
    "an empty name of the robot": Defect("D124", '<robot name="arm">', '<robot name="">', fixable=True),
    "no velocity limit": Defect("D314", ' velocity="2.5"', "", '<limit lower="-2.9"'),
    "an effort beyond any drive": Defect("D315", 'effort="80"', 'effort="1e12"', '<limit lower="-2.9"'),
    "negative damping": Defect("D316", 'damping="0.1"', 'damping="-0.1"', "<dynamics"),
    "a slide in millimeters": Defect("D317", 'upper="0.04"', 'upper="40"', '<limit lower="0"'),
    "a fixed joint with limits": Defect(
        "D318",
        '<child link="tool"/>',
        '<child link="tool"/>\n    <limit effort="1" velocity="1"/>',
        '<joint name="flange"',
    ),
    "rpy in degrees": Defect("D319", '<origin xyz="0 0 0.1" rpy="0 0 0"/>', '<origin xyz="0 0 0.1" rpy="0 0 90"/>'),
    "a joint in millimeters": Defect("D320", '<origin xyz="0 0 0.4"/>', '<origin xyz="0 0 400"/>'),
    "a mimic that never moves": Defect("D322", FOLLOW, '<mimic joint="grip" multiplier="0"/>'),
    "soft limits beyond": Defect("D324", 'soft_upper_limit="0.039"', 'soft_upper_limit="0.39"', "<safety_controller"),
    "inertial rpy in degrees": Defect(
        "D319",
        '<origin xyz="0 0 0.2"/>\n      <mass',
        '<origin xyz="0 0 0.2" rpy="0 0 45"/>\n      <mass',
        '<origin xyz="0 0 0.2" rpy',
    ),
    "inertial rpy of more than a turn": Defect(
        "D319",
        '<origin xyz="0 0 0.2"/>\n      <mass',
        '<origin xyz="0 0 0.2" rpy="0 6.5 0"/>\n      <mass',
        '<origin xyz="0 0 0.2" rpy',
    ),
    "soft limits swapped": Defect(
        "D325",
        'soft_lower_limit="0.001" soft_upper_limit="0.039"',
        'soft_lower_limit="0.039" soft_upper_limit="0.001"',
        "<safety_controller",
        fixable=True,
    ),
    "no upper soft limit": Defect("D325", 'soft_upper_limit="0.039" ', "", "<safety_controller"),
    "no upper limit": Defect("D326", 'upper="2.9" ', "", '<limit lower="-2.9"'),
    "no lower limit": Defect("D326", 'lower="-2.9" ', "", '<limit upper="2.9"'),
    "a velocity in degrees per second": Defect("D327", 'velocity="2.5"', 'velocity="143"', '<limit lower="-2.9"'),
    "a follower of the wrong sign": Defect(
        "D328", '<limit lower="-0.04" upper="0"', '<limit lower="0" upper="0.04"', FOLLOW
    ),
    "a multiplier of the wrong sign": Defect("D328", FOLLOW, '<mimic joint="grip" multiplier="1"/>'),
    "a follower elsewhere": Defect("D328", FOLLOW, '<mimic joint="grip" multiplier="-1" offset="0.5"/>'),
    "a follower without limits of its own": Defect("D328", 'lower="-0.04" upper="0" ', "", FOLLOW),
    "a follower with half the range": Defect("D329", 'lower="-0.04" upper="0"', 'lower="-0.02" upper="0"', FOLLOW),
    "a follower twice as fast": Defect("D329", FOLLOW, '<mimic joint="grip" multiplier="-2"/>'),
    "a limited follower of an endless joint": Defect("D329", FOLLOW, '<mimic joint="elbow" multiplier="-1"/>'),
    # shapes
    "a negative size": Defect("D401", '<sphere radius="0.03"/>', '<sphere radius="-0.03"/>', "<geometry><sphere"),
    "a size of zero": Defect("D402", '<sphere radius="0.03"/>', '<sphere radius="0"/>', "<geometry><sphere"),
    "a box in millimeters": Defect(
        "D403", 'size="0.3 0.06 0.06"', 'size="300 60 60"', '<geometry><box size="300', also=("D222", "D224")
    ),
    "a missing mesh": Defect("D404", "meshes/cube.stl", "meshes/cub.stl", "<geometry><mesh"),
    "a mesh outside": Defect("D405", "meshes/cube.stl", "../../../../../etc/passwd", "<geometry><mesh"),
    "a damaged mesh": Defect("D406", "meshes/cube.stl", "meshes/broken.stl", "<geometry><mesh"),
    "a mesh of another type": Defect("D407", "meshes/cube.stl", "meshes/cube.wrl", "<geometry><mesh"),
    "a flat mesh": Defect("D408", 'scale="0.06 0.06 0.06"', 'scale="0.06 0 0.06"', "<geometry><mesh", also=("D223",)),
    "a mesh without scale": Defect(
        "D409", 'scale="0.06 0.06 0.06"', 'scale="600 600 600"', "<geometry><mesh", also=("D222", "D224")
    ),
    "a frame far away": Defect(
        "D410",
        "    <visual>\n      <geometry><sphere",
        '    <visual>\n      <origin xyz="3 0 0"/>\n      <geometry><sphere',
        '<origin xyz="3 0 0"/>',
        also=("D220",),
    ),
    "a color above one": Defect("D411", 'rgba="0.5 0.5 0.5 1"', 'rgba="128 128 128 1"', "<material", fixable=True),
    "a shape of another format": Defect(
        "D412", '<sphere radius="0.03"/>', '<ellipsoid radii="1 1 1"/>', "<geometry><ellipsoid"
    ),
    "a mirrored mesh": Defect("D413", 'scale="0.06 0.06 0.06"', 'scale="0.06 -0.06 0.06"', "<geometry><mesh"),
    "an undefined material": Defect("D416", '<material name="gray"/>', '<material name="silver"/>'),
    "a shape inside another link": Defect(
        "D417",
        '<geometry><sphere radius="0.03"/></geometry>\n    </visual>\n',
        '<geometry><sphere radius="0.03"/></geometry>\n    </visual>\n    <collision><origin xyz="-0.32 0 -0.1"/>'
        '<geometry><sphere radius="0.04"/></geometry></collision>\n',
        '<link name="upper">',
    ),
    "an absolute mesh path": Defect(
        "D415", "meshes/cube.stl", "/opt/meshes/cube.stl", "<geometry><mesh", also=("D404",)
    ),
}


def cube_stl() -> bytes:
    """A unit cube about the origin, as binary STL."""
    h = 0.5
    quads = [
        [(-h, -h, -h), (-h, h, -h), (h, h, -h), (h, -h, -h)],
        [(-h, -h, h), (h, -h, h), (h, h, h), (-h, h, h)],
        [(-h, -h, -h), (h, -h, -h), (h, -h, h), (-h, -h, h)],
        [(-h, h, -h), (-h, h, h), (h, h, h), (h, h, -h)],
        [(-h, -h, -h), (-h, -h, h), (-h, h, h), (-h, h, -h)],
        [(h, -h, -h), (h, h, -h), (h, h, h), (h, -h, h)],
    ]
    faces = [(a, b, c) for a, b, c, d in quads] + [(a, c, d) for a, b, c, d in quads]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *face[0], *face[1], *face[2], 0) for face in faces)
    return b"\0" * 80 + struct.pack("<I", len(faces)) + body


def write(folder: Path, text: str | bytes, name: str = "arm.urdf") -> Path:
    """The description in a folder with its meshes."""
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    (folder / "meshes" / "cube.stl").write_bytes(cube_stl())
    (folder / "meshes" / "cube.wrl").write_text("#VRML V2.0 utf8\n")
    (folder / "meshes" / "broken.stl").write_bytes(cube_stl()[:200])
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file
