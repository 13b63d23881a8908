# A deployment is imported by the name of its site. The next apply takes everything else from the configuration and goes on from what
# the nodes' ledgers hold.
terraform import slipway_deployment.site lon1
