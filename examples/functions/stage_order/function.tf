locals {
  monitoring = <<-EOT
    - role: '*'
      stage: post_deployment/8100
      type: shell
      parameters: {cmd: ./agent.sh, timeout: 300}
  EOT
  network    = <<-EOT
    - role: [controller, compute]
      stage: post_deployment/4100
      type: shell
      parameters: {cmd: ./bridges.sh, timeout: 60}
  EOT
  order = provider::slipway::stage_order([
    { name = "monitoring", tasks = yamldecode(local.monitoring) },
    { name = "network", tasks = yamldecode(local.network) },
  ], null)
}

# ["network[0]", "monitoring[0]"]
output "after_deployment" {
  value = [for task in local.order.post_deployment : "${task.plugin}[${task.index}]"]
}
