# An override is imported by its name. The next apply takes everything else from the configuration; no host is touched.
terraform import slipway_override.tuning tuning
