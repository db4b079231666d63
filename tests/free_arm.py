"""A small arm whose base has mass, and may be left free."""

from __future__ import annotations

import dalembert as dl
from dalembert.describe.urdf_read import read_urdf

ARM = """<robot name="arm"><link name="base"><inertial><mass value="3"/>
<inertia ixx=".03" ixy="0" ixz="0" iyy=".04" iyz="0" izz=".05"/></inertial></link>
<joint name="one" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 .1"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
<link name="a"><inertial><origin xyz=".2 0 0"/><mass value="1"/>
<inertia ixx=".001" ixy="0" ixz="0" iyy=".02" iyz="0" izz=".02"/></inertial></link>
<joint name="two" type="revolute"><parent link="a"/><child link="b"/><origin xyz=".4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
<link name="b"><inertial><origin xyz=".15 0 0"/><mass value=".7"/>
<inertia ixx=".001" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial></link></robot>"""


def free_arm(base: str) -> dl.Robot:
    """Two joints on a base of that kind."""
    return dl.Robot(read_urdf(ARM)).with_base(base)
