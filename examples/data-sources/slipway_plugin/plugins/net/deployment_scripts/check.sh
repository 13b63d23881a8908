#!/bin/sh
ip route get 192.0.2.1
