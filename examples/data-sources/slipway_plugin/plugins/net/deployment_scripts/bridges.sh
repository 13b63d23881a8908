#!/bin/sh
set -e
ip link show br-mgmt >/dev/null 2>&1 || ip link add br-mgmt type bridge
