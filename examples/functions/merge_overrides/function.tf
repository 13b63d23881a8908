locals {
  merged = provider::slipway::merge_overrides([
    { name = "site", configuration = { package = { mc = { ensure = "absent" }, htop = { ensure = "present" } } } },
    { name = "lab", configuration = { package = { mc = { ensure = "latest" } } }, options = { create = false } },
  ])
}

resource "slipway_override" "lab" {
  name          = "lab"
  roles         = ["lab"]
  configuration = local.merged.configuration # mc is latest, htop present
  options       = local.merged.options       # create is false
}
