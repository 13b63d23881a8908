#!/bin/sh
date >>/run/golden.bridges
