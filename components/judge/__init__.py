"""The judges of whether the passages of the preferred source are worth keeping, and the component that calls one."""
