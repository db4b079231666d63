"""A small arm with everything that a fault can hide in: a turned base, oblique and sliding joints, inertial frames
turned off the link's axes, fixed links with mass, a mimic joint, rotors, damping and friction."""

GRIPPER_ARM = """<robot name="gripper arm" xmlns:dalembert="https://dalembert.dev/urdf">
  <link name="world"/>
  <link name="pedestal">
    <inertial><mass value="9"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="shoulder">
    <inertial>
      <origin xyz="0.02 -0.03 0.1" rpy="0.3 -0.2 0.5"/><mass value="3.1"/>
      <inertia ixx="0.04" ixy="0.003" ixz="-0.002" iyy="0.05" iyz="0.004" izz="0.03"/>
    </inertial>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.15 0.01 0.02" rpy="-0.4 0.1 0.2"/><mass value="2.3"/>
      <inertia ixx="0.01" ixy="-0.001" ixz="0.0005" iyy="0.03" iyz="0.002" izz="0.035"/>
    </inertial>
  </link>
  <link name="slider">
    <inertial>
      <origin xyz="0.01 0.02 -0.05"/><mass value="1.2"/>
      <inertia ixx="0.004" ixy="0.0003" ixz="0" iyy="0.005" iyz="-0.0002" izz="0.002"/>
    </inertial>
  </link>
  <link name="wrist">
    <inertial>
      <origin xyz="0 0.01 0.04" rpy="0 0 0.7"/><mass value="0.6"/>
      <inertia ixx="0.0008" ixy="0.0001" ixz="0" iyy="0.0006" iyz="0" izz="0.0004"/>
    </inertial>
  </link>
  <link name="tool">
    <inertial>
      <origin xyz="0.01 0 0.06" rpy="0.2 0.3 0"/><mass value="0.4"/>
      <inertia ixx="0.0005" ixy="0.0001" ixz="0" iyy="0.0004" iyz="0" izz="0.0004"/>
    </inertial>
  </link>
  <link name="left"><inertial><origin xyz="0 0.01 0.02"/><mass value="0.1"/>
    <inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 -0.01 0.02"/><mass value="0.1"/>
    <inertia ixx="2e-5" ixy="0" ixz="0" iyy="2e-5" iyz="0" izz="1e-5"/></inertial></link>
  <link name="tip"/>
  <joint name="stand" type="fixed"><parent link="world"/><child link="pedestal"/>
    <origin xyz="0.2 -0.1 0.5" rpy="0.4 0.3 -0.6"/></joint>
  <joint name="j1" type="revolute"><parent link="pedestal"/><child link="shoulder"/>
    <origin xyz="0 0 0.3" rpy="0.1 0 0.2"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="3"/>
    <dynamics damping="0.5" friction="0.8"/>
    <dalembert:drive rotor_inertia="2e-4" gear_ratio="40"/></joint>
  <joint name="j2" type="revolute"><parent link="shoulder"/><child link="upper"/>
    <origin xyz="0.05 0 0.2" rpy="1.2 0.1 0"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-1.5" upper="1.5" effort="50" velocity="3"/>
    <dynamics damping="0.3" friction="0.2"/>
    <dalembert:drive rotor_inertia="1e-4" gear_ratio="50"/></joint>
  <joint name="j3" type="prismatic"><parent link="upper"/><child link="slider"/>
    <origin xyz="0.3 0 0" rpy="0 0.9 0.3"/><axis xyz="0 0 1"/><limit lower="0" upper="0.4" effort="50" velocity="1"/>
    <dynamics damping="2" friction="1.5"/></joint>
  <joint name="j4" type="continuous"><parent link="slider"/><child link="wrist"/>
    <origin xyz="0 0 0.1" rpy="-0.7 0 0"/><axis xyz="0 1 0"/></joint>
  <joint name="flange" type="fixed"><parent link="wrist"/><child link="tool"/>
    <origin xyz="0 0.02 0.08" rpy="0 0.5 0.1"/></joint>
  <joint name="finger" type="prismatic"><parent link="tool"/><child link="left"/>
    <origin xyz="0 0.02 0.1"/><axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="5" velocity="0.2"/></joint>
  <joint name="finger_too" type="prismatic"><parent link="tool"/><child link="right"/>
    <origin xyz="0 -0.02 0.1"/><axis xyz="0 -1 0"/><limit lower="0" upper="0.04" effort="5" velocity="0.2"/>
    <mimic joint="finger" multiplier="0.9" offset="0.002"/></joint>
  <joint name="tip_fixed" type="fixed"><parent link="tool"/><child link="tip"/><origin xyz="0 0 0.15"/></joint>
</robot>
"""
