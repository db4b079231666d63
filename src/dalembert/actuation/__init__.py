"""What drives a robot, and what gives way between drive and link: motors, gears, flexible joints, friction."""
