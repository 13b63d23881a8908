package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

const head = `---
page_title: "Configuration resource types"
subcategory: ""
description: |-
  What a service's configuration may hold: types, titles and parameters.
---

# Configuration resource types

The ` + "`configuration`" + ` of a ` + "`slipway_service`" + ` maps type to title to parameters, in Puppet's words and with their meaning:

` + "```terraform" + `
configuration = {
%s}
` + "```" + `

A resource is named ` + "`type[title]`" + `, in references as in plans. References reach every resource of the same node, whichever service
brings it. Several services may bring the same resource with equal parameters: see
[What several services bring](services.md#what-several-services-bring).

Every resource is checked before it is applied, and only what differs is changed. What was there before is noted on the node at the first
touch, so that removing the resource from the site brings it back: a package that was installed before stays, a file that was
there before returns (unless ` + "`backup = false`" + `). The exceptions are ` + "`exec`" + `, because what a command did cannot be undone, and the
content of a directory that ` + "`force`" + ` removed.

## What is no longer given

A parameter that an override or an earlier form of a resource gave, and that the present form does not give, returns: to what it was before slipway
first managed it or, where slipway made the object with it, to what a new object has. So nodes with equal configuration end equal, whatever they had
in between, but for what the last column names. From then on the parameter is left alone.

| type | returns | where slipway made the object | stays |
|---|---|---|---|
| ` + "`file`" + ` | ` + "`mode`" + `, ` + "`owner`" + `, ` + "`group`" + `, ` + "`target`" + `, and the content (or the link or directory) that was there, unless ` + "`backup = false`" + ` | ` + "`mode`" + ` 0644, of a directory 0755; ` + "`owner`" + ` and ` + "`group`" + ` of the session; no content; where only attributes are given, no file and no link | content that others have written; directories that slipway made; what ` + "`purge`" + ` removed and attributes that ` + "`recurse`" + ` gave, which return when the resource is removed |
| ` + "`user`" + ` | ` + "`uid`" + `, ` + "`gid`" + `, ` + "`groups`" + `, ` + "`comment`" + `, ` + "`home`" + `, ` + "`shell`" + `, ` + "`password`" + `, ` + "`expiry`" + ` and the ages of the password | what it had before the parameter was given, or what ` + "`useradd`" + ` gives: the next free ` + "`uid`" + `, its own group, the ` + "`home`" + ` and ` + "`shell`" + ` of /etc/default/useradd, no ` + "`comment`" + `, no other ` + "`groups`" + `, no ` + "`password`" + ` | a home directory that was made: it moves with ` + "`home`" + `, and stays without ` + "`managehome`" + `; the id of the user's own group; files outside the home directory keep the number of their owner; keys that ` + "`purge_ssh_keys`" + ` took away return when the resource is removed |
| ` + "`group`" + ` | ` + "`gid`" + `, ` + "`members`" + ` | the ` + "`gid`" + ` that it had before, or the next free one; no ` + "`members`" + ` | files keep the number of their group |
| ` + "`service`" + ` | ` + "`ensure`" + ` and ` + "`enable`" + ` | | a service that did not exist before |
| ` + "`host`" + ` | ` + "`host_aliases`" + `, ` + "`comment`" + ` | no aliases, no comment | |
| ` + "`ssh_authorized_key`" + ` | ` + "`options`" + ` | no options | |
| ` + "`mount`" + ` | ` + "`fstype`" + `, ` + "`options`" + `, ` + "`dump`" + `, ` + "`pass`" + `, and with ` + "`ensure = \"present\"`" + ` whether it is mounted | the defaults of fstab | |
| ` + "`package`" + ` | ` + "`mark`" + ` | not held | the version: ` + "`installed`" + ` says that any will do; a hold that was lifted returns when the resource is removed |
| ` + "`archive`" + ` | ` + "`user`" + `, ` + "`group`" + ` | those of the session | what ` + "`creates`" + ` kept from being extracted |
| ` + "`vcsrepo`" + ` | | | ` + "`revision`" + `, ` + "`user`" + `, ` + "`owner`" + ` and ` + "`group`" + `: what is there stays until the resource is removed |
| ` + "`cron`" + `, ` + "`sysctl`" + `, ` + "`apt_repository`" + `, ` + "`yum_repository`" + `, ` + "`systemd_unit`" + `, ` + "`hostname`" + `, ` + "`kernel_module`" + `, ` + "`timezone`" + `, ` + "`ini_setting`" + `, ` + "`file_line`" + `, ` + "`exec`" + ` | their defaults count, so there is nothing to return | | |

## One object under two names

Two resources of a node must not look after the same object: each would undo what the other one did. It is an error of the plan where the
configuration says it, and an error of the second resource where only the node knows it.

| type | the plan knows | the node knows |
|---|---|---|
| ` + "`" + `cron` + "`" + ` | two titles with the same ` + "`" + `user` + "`" + `, ` + "`" + `command` + "`" + ` and times, however these are written | |
| ` + "`" + `file` + "`" + ` | two titles with one ` + "`" + `path` + "`" + ` | links in the directories of the path; hard links whose ` + "`" + `mode` + "`" + `, ` + "`" + `owner` + "`" + ` or ` + "`" + `group` + "`" + ` contradict |
| ` + "`" + `group` + "`" + `, ` + "`" + `user` + "`" + ` | two titles with one ` + "`" + `name` + "`" + ` | |
| ` + "`" + `host` + "`" + ` | titles that differ in upper and lower case; an alias is not the name, so a name and the alias of another one may both be managed | |
| ` + "`" + `file_line` + "`" + ` | two titles with one ` + "`" + `path` + "`" + ` and ` + "`" + `line` + "`" + ` | links in the path, also the file itself |
| ` + "`" + `ini_setting` + "`" + ` | two titles with one ` + "`" + `path` + "`" + `, ` + "`" + `section` + "`" + ` and ` + "`" + `setting` + "`" + ` | links in the path, also the file itself |
| ` + "`" + `mount` + "`" + ` | a path has one spelling, without a slash at its end; two titles with ` + "`" + `fstype = "swap"` + "`" + ` and one ` + "`" + `device` + "`" + ` | links in the path |
| ` + "`" + `package` + "`" + ` | two titles with one ` + "`" + `name` + "`" + `; ` + "`" + `tree` + "`" + ` and ` + "`" + `tree:amd64` + "`" + `; those of gem, pip and npm are others | the node's own architecture in the name |
| ` + "`" + `service` + "`" + ` | two titles with one ` + "`" + `name` + "`" + `, with or without ` + "`" + `.service` + "`" + ` | a unit's other names |
| ` + "`" + `ssh_authorized_key` + "`" + ` | two titles with one ` + "`" + `name` + "`" + ` and ` + "`" + `user` + "`" + `, or ` + "`" + `target` + "`" + ` | the file of a ` + "`" + `user` + "`" + ` given as ` + "`" + `target` + "`" + `; links in the path, also the file itself |
| ` + "`" + `sysctl` + "`" + ` | ` + "`" + `net.ipv4.ip_forward` + "`" + ` and ` + "`" + `net/ipv4/ip_forward` + "`" + ` | |
| ` + "`" + `apt_repository` + "`" + `, ` + "`" + `yum_repository` + "`" + ` | a repository is known by its title: one that is in two files is two for apt and dnf, too | |
| ` + "`" + `systemd_unit` + "`" + ` | two titles with one ` + "`" + `unit` + "`" + ` and ` + "`" + `filename` + "`" + ` | |
| ` + "`" + `kernel_module` + "`" + ` | ` + "`" + `br-netfilter` + "`" + ` and ` + "`" + `br_netfilter` + "`" + ` | |
| ` + "`" + `hostname` + "`" + ` | any two titles: a node has one name | |
| ` + "`" + `timezone` + "`" + ` | any two titles: a node has one time zone | |
| ` + "`" + `archive` + "`" + ` | two titles with one ` + "`" + `path` + "`" + `; several may have one ` + "`" + `extract_path` + "`" + ` | a file that two archives have; links in the directories of the path |
| ` + "`" + `vcsrepo` + "`" + ` | two titles with one ` + "`" + `path` + "`" + ` | links in the directories of the path |
| ` + "`" + `exec` + "`" + ` | never: the same command may run twice | |

A resource that gets another title, or writes its path or name another way, and looks after the same object as before takes that over: nothing is undone
and done again. Where only the node knows that the two are one, a new title is still shown and counted as a removal, by ` + "`" + `protect.max_removed_resources` + "`" + ` too:
the planner does not know the links of a node. The apply removes nothing then.

A resource that keeps its title and gets another object, such as another ` + "`" + `path` + "`" + `, ` + "`" + `extract_path` + "`" + ` or ` + "`" + `user` + "`" + `, leaves the former one: what slipway did there is undone.
A ` + "`" + `file` + "`" + `, ` + "`" + `archive` + "`" + `, ` + "`" + `vcsrepo` + "`" + `, ` + "`" + `ssh_authorized_key` + "`" + `, ` + "`" + `cron` + "`" + `, ` + "`" + `ini_setting` + "`" + ` or ` + "`" + `file_line` + "`" + ` has the new one first. Where that fails, the former one stays, the ledger
has both, and the next apply completes it, or keeps the former one where the configuration returned to it. The former one is undone first where both cannot be there
at once (a part of the same file, a path below the other, an archive that is kept under one path), where another resource gets it in the same apply, and for all
other types, whose objects exclude each other: two packages may conflict, two users may have one uid, two services one port. To keep the former one until the new
one works, give the new one another title, and take the former one out in a later apply.

What is in a directory that gets another ` + "`" + `path` + "`" + `, such as the files of a ` + "`" + `source_dir` + "`" + `, is removed from the former one only when all files that are to be below the
new path are there: where one fails, the removals are skipped and the former directory stays whole. It is removed first where the former or the new path is below
the other, and what takes the place of other resources of the same apply is. This is so within one session of a node, which is one phase of the plan.

Hard links are several names of one file. A ` + "`" + `file` + "`" + ` that is written becomes a file of its own, and undo brings its content back, but not the hard link.
Where only ` + "`" + `owner` + "`" + `, ` + "`" + `group` + "`" + ` or ` + "`" + `mode` + "`" + ` are given it stays one file, so give all its names the same. That two managed files became one after both were applied
is found by the next check.

## Templates

` + "`" + `template` + "`" + ` gives a ` + "`" + `file` + "`" + ` its content on each node, in the syntax of Terraform's own templates. ` + "`" + `file()` + "`" + ` reads it; Terraform does not look into it:

` + "```" + `terraform
configuration = { file = { "/etc/app.conf" = { template = file("${path.module}/app.conf.tftpl"), mode = "0644" } } }
` + "```" + `

` + "```" + `
# app.conf.tftpl
name = ${node.name}
bind = ${node.address}:${lookup(node.labels, "port", "8080")}
%%{ if contains(node.roles, "db") ~}
data = /srv/db
%%{ endif ~}
password = ${secrets.app_password}
` + "```" + `

- In scope are ` + "`" + `node` + "`" + ` (` + "`" + `name` + "`" + `, ` + "`" + `address` + "`" + `, ` + "`" + `rack` + "`" + `, ` + "`" + `tags` + "`" + `, ` + "`" + `labels` + "`" + `, ` + "`" + `roles` + "`" + `), ` + "`" + `site.name` + "`" + `, the ` + "`" + `facts` + "`" + ` of the node (below), and the [secrets](security.md) of the deployment. A secret stands by itself, as above: no function,
  condition or loop can read it, because it is put in when the resource is sent to its node.
- The functions are Terraform's, without those that read files, the time or anything else from outside: ` + "`" + `join` + "`" + `, ` + "`" + `format` + "`" + `, ` + "`" + `jsonencode` + "`" + `, ` + "`" + `yamlencode` + "`" + `, ` + "`" + `indent` + "`" + `, ` + "`" + `lookup` + "`" + `, ` + "`" + `cidrhost` + "`" + ` and so on.
- Values of Terraform come through ` + "`" + `templatefile()` + "`" + `, which evaluates everything that is not escaped: what slipway is to evaluate is then written ` + "`" + `$${node.name}` + "`" + ` and ` + "`" + `%%%%{ if ... }` + "`" + `. A template in quotes in the configuration itself needs the same escapes.
- An override may give another ` + "`" + `template` + "`" + `. Give the text itself as a template where an override is to replace a template by fixed content; ` + "`" + `content` + "`" + ` and ` + "`" + `template` + "`" + ` exclude each other.
- The plan has the content: nodes whose content comes out the same are not changed, whatever changed in the template, also when the same text is given as ` + "`" + `content` + "`" + ` instead. Two services that share a file must both give the template, or both the ` + "`" + `content` + "`" + `: they are compared as written. While something is unknown that a template
  reads, the content is unknown on that node only.
- An error of a template is one of the plan, with line and column. A template has at most 64 KiB, its result at most 1 MiB.
- In tasks of entities each parameter is a template already, with more in scope, and without facts: see [Catalog](catalog.md).

### Templates of other parameters

Every parameter of a type takes a template in the place of its value, and so does an element of a list: ` + "`" + `{ template = "..." }` + "`" + `. In Terraform's quotes, ` + "`" + `$${` + "`" + ` is what slipway evaluates, on each node, and ` + "`" + `${` + "`" + ` what Terraform does:

` + "```" + `terraform
configuration = {
  host    = { "db" = { ip = { template = "$${cidrhost(\"10.0.0.0/24\", node.rack == \"r1\" ? 1 : 2)}" } } }
  package = { web = { name = { template = "$${facts.os.family == \"RedHat\" ? \"httpd\" : \"apache2\"}" } } }
  exec = { announce = {
    command = ["announce", "--address", { template = "$${facts.default_address}" }]
    unless  = [["announced", { template = "$${facts.default_address}" }]]
  } }
}
` + "```" + `

- What it gives is what counts, as if it had been written: a number or a bool may be its text. It is checked for each node; an error names the parameter and the nodes.
- The parameters of every type (below), such as ` + "`" + `require` + "`" + ` and ` + "`" + `noop` + "`" + `, take none, and a title is a text. Templates of parameters that take [secrets](#secrets) may name one.
- **A line for a shell has no facts**: a node says them itself, and none of it is read by a shell. ` + "`" + `command` + "`" + ` and the guards of an ` + "`" + `exec` + "`" + `, ` + "`" + `start` + "`" + `, ` + "`" + `stop` + "`" + ` and ` + "`" + `status` + "`" + ` of a ` + "`" + `service` + "`" + ` and ` + "`" + `validate_cmd` + "`" + ` take a list, the program and its arguments, of which templates with facts may be some, but not the line after ` + "`" + `sh -c` + "`" + `; ` + "`" + `environment` + "`" + ` of an ` + "`" + `exec` + "`" + ` takes facts, too. What else a line needs to know, it reads from a file.
- Before slipway has seen a node, a parameter that facts give is missing in the plan: where it names the object, such as ` + "`" + `name` + "`" + `, the title stands for it when the plan compares resources, and the run has the name.

### Facts

` + "`" + `facts` + "`" + ` is what a node says of its machine. The values of ` + "`" + `os.family` + "`" + ` and ` + "`" + `os.name` + "`" + ` are those of Puppet; [Coming from Ansible](coming-from-ansible.md#variables-templates-and-facts) has the names that Ansible gives facts:

` + "```" + `
# limits.tftpl
workers = ${facts.cpus * 2}
cache   = ${floor(facts.memory_mib / 4)}M
bind    = ${facts.default_address != null ? facts.default_address : node.address}
%%{ if facts.os.family == "RedHat" ~}
user    = nginx
%%{ endif ~}
` + "```" + `

| fact | what it is |
|---|---|
| ` + "`" + `os.family` + "`" + `, ` + "`" + `os.name` + "`" + `, ` + "`" + `os.release` + "`" + `, ` + "`" + `os.codename` + "`" + ` | ` + "`" + `Debian` + "`" + `, ` + "`" + `Ubuntu` + "`" + `, ` + "`" + `24.04` + "`" + `, ` + "`" + `noble` + "`" + ` |
| ` + "`" + `architecture` + "`" + ` | ` + "`" + `x86_64` + "`" + `, ` + "`" + `aarch64` + "`" + ` |
| ` + "`" + `cpus` + "`" + `, ` + "`" + `memory_mib` + "`" + ` | processors that are online, and all memory |
| ` + "`" + `hostname` + "`" + `, ` + "`" + `fqdn` + "`" + ` | the second as the hosts file of the node has it |
| ` + "`" + `virtual` + "`" + `, ` + "`" + `virtualization` + "`" + ` | true in a virtual machine or container, and its kind as systemd-detect-virt names it |
| ` + "`" + `service_provider` + "`" + ` | what runs services, as ` + "`" + `provider` + "`" + ` of a ` + "`" + `service` + "`" + ` names it: ` + "`" + `systemd` + "`" + `, ` + "`" + `openrc` + "`" + `, or ` + "`" + `none` + "`" + ` of them |
| ` + "`" + `default_interface` + "`" + `, ` + "`" + `default_address` + "`" + ` | of the default route |
| ` + "`" + `interfaces` + "`" + ` | by name: ` + "`" + `mac` + "`" + `, and ` + "`" + `addresses` + "`" + ` of global scope that are not temporary; without the loopback interface and virtual ones without an address |

- What a node does not have, such as a default route, is null. Null in a text is an error of the plan that names the nodes; ask for it, as above.
- Facts come with each look at a node, also at a folder, which has those of its machine and the os-release in it. They are kept in the state and shown in ` + "`" + `node_facts` + "`" + ` of the deployment; a refresh finds them anew.
- Configuration itself reads facts from [` + "`" + `data.slipway_nodes` + "`" + `](../data-sources/nodes.md) with ` + "`" + `gather_facts = true` + "`" + `, also before the first apply: tags by operating system, say. ` + "`" + `examples/facts` + "`" + ` does both.
- Before slipway has seen a node, the plan shows ` + "`" + `content known in the run` + "`" + `, or the other parameter, with the facts that the template reads, and the run makes it once the node has said them. A mistake that only they show fails the node then.
- A changed fact changes only what comes out differently. Where a fact that a template reads is not what it was in the plan, the run fails the node before it touches them: ` + "`" + `facts changed since the plan` + "`" + `; plan again. With ` + "`" + `drift_detection = "off"` + "`" + `, facts are those that the last run saw.
- Facts consist of letters, digits, spaces and ` + "`" + `._:+@-` + "`" + `. What else a node says is left out.

## Files of the controller

A file that is large, or no text, goes from the machine that runs Terraform to the nodes without passing through the plan or the state:

` + "`" + `` + "`" + `` + "`" + `terraform
configuration = { file = { "/opt/app/app.bin" = {
  source_file   = "${path.module}/app.bin"
  source_sha256 = filesha256("${path.module}/app.bin")
  mode          = "0755"
} } }
` + "`" + `` + "`" + `` + "`" + `

- The plan, its digest and the ledger have the SHA-256 alone. Drift is a file with another one; a check needs no content.
- A node gets the content in the session in which its file differs, through the connection that is there, straight into a file beside the target, which takes its place when the SHA-256 is right. Neither side has more than a part of it in memory.
- When the run starts, all files that it needs are read. One that is missing, larger than 100 MiB, or that has another SHA-256 than ` + "`" + `source_sha256` + "`" + ` stops the run before any node is touched; the error names all of them. Terraform itself stops an apply of a saved plan after ` + "`" + `filesha256()` + "`" + ` has changed.
- A path is relative to the directory in which Terraform runs, so begin it with ` + "`" + `${path.module}` + "`" + `; in a document, it is relative to the document. In the template of an entity it is relative to the directory in which Terraform or the companion runs.
- Undo is that of every file: what was there before returns, unless ` + "`" + `backup = false` + "`" + `.
- A service that is rolled back needs its former content: name the file by its version, such as ` + "`" + `app-1.4.bin` + "`" + `, and keep it until the new one is deployed. Where the file has another content by then, the rollback of that file fails, and says so.
- With ` + "`" + `engine = { temporal = {...} }` + "`" + `, the files that a run sends go into the journal before it starts, encrypted and in parts, and from there through the workers to the nodes: once for each zone that gets them. They are deleted with their run, by ` + "`" + `runs prune` + "`" + `.

An ` + "`" + `archive` + "`" + ` takes the same two parameters. A node gets it when what it brings is missing or differs, and nothing is extracted before all of it is there and has its SHA-256:

` + "`" + `` + "`" + `` + "`" + `terraform
configuration = { archive = { app = {
  source_file   = "${path.module}/app-1.4.tar.gz"
  source_sha256 = filesha256("${path.module}/app-1.4.tar.gz")
  extract       = true
  extract_path  = "/opt/app"
} } }
` + "`" + `` + "`" + `` + "`" + `

A whole directory goes the same way:

` + "`" + `` + "`" + `` + "`" + `terraform
configuration = {
  file    = { "/srv/www/site" = { source_dir = "${path.module}/site", owner = "www-data", ignore = ["*.bak"], purge = true } }
  service = { nginx = { ensure = "running", subscribe = "file[/srv/www/site]" } }
}
` + "`" + `` + "`" + `` + "`" + `

- The directory is read for each plan, and each directory, file and link in it is a resource of its own, such as ` + "`" + `file[/srv/www/site/index.html]` + "`" + `: the plan names those that change, only those are sent, and an override may change one. A resource that the configuration gives itself for a path below takes the place of the file.
- ` + "`" + `owner` + "`" + `, ` + "`" + `group` + "`" + `, ` + "`" + `mode` + "`" + `, ` + "`" + `backup` + "`" + `, ` + "`" + `force` + "`" + ` and the parameters of every type count for all of it. Without ` + "`" + `mode` + "`" + `, what is in the directory has the mode of the controller, which may depend on who checked it out (umask): give ` + "`" + `mode` + "`" + ` where that matters. It sets x of directories where it sets r. The mode of the directory itself is managed with ` + "`" + `mode` + "`" + ` alone.
- What leaves the directory on the controller is undone on the nodes: what was there before returns, and what slipway made goes. With ` + "`" + `purge = true` + "`" + `, what was never in it goes, too, as with ` + "`" + `recurse` + "`" + `; names in ` + "`" + `ignore` + "`" + ` are neither sent nor purged.
- A reference to the directory is one to all that is in it. In another service than that of the directory, what refers to it is updated, without a change on the node, when a name comes or goes.
- A directory has at most 2,000 directories, files and links, and 1 GiB. It must be there for a plan, also for the one that ` + "`" + `terraform destroy` + "`" + ` makes first (` + "`" + `-refresh=false` + "`" + ` does without). A directory that changes between a saved plan and its apply stops the apply before any node is touched. Terraform reports ` + "`" + `Provider produced inconsistent final plan` + "`" + `, with the digests of both, and calls it a bug of the provider: it compares the two plans itself, before it gives the provider the first one. Plan again.
- ` + "`" + `examples/files` + "`" + ` has a file and a directory to try.

`

// order is what sequence.autorequired does, with ' for a backquote.
const order = `## What comes first by itself

What has no relation to something else has no order, but some resources come after others of the same node, whichever service brings them, without naming them. They are not refreshed by these.

| type | comes after |
|---|---|
| 'file' | the nearest directory above it, the mount that it is below, archives and clones that it is in, the 'target' of a link, its 'owner' and 'group', files that its 'validate_cmd' names |
| 'user' | its group ('gid', or the one of its name), its 'groups', the mount that 'home' is below, the file that is its 'shell' |
| 'group' | its 'members', unless they need the group |
| 'archive' | its 'user' and 'group', the packages 'curl', 'wget', 'xz', 'xz-utils' and 'zstd', the file that is its 'source', and directories and mounts above what it reads and writes |
| 'vcsrepo' | the package 'git', its 'user', 'owner' and 'group', directories and mounts above it, a 'source' on the node |
| 'package' | each 'apt_repository' and 'yum_repository' |
| 'apt_repository', 'yum_repository' | the directory of its file, and for apt the file that is its 'keyring' |
| 'cron' | its 'user' |
| 'exec' | its 'user', directory and mount of 'cwd' and of what it 'creates', files that the command or a guard names by their full path |
| 'file_line', 'ini_setting' | the file that it is in, or the directory of that, and the mount |
| 'ssh_authorized_key' | its 'user', the file or directory that the key is in, and the mount |
| 'mount' | the 'file' for its mount point, or the directory above it, and the mount that it is below; for swap those of its 'device' |
| 'systemd_unit' | the directory of its file, the user and the groups that its 'content' names with 'User=', 'Group=' and 'SupplementaryGroups=' |
| 'service' | its 'systemd_unit', also a template or drop-in, with the accounts of that, files that its 'start', 'stop', 'status' and 'restart' name by their full path |
| 'sysctl' | each 'kernel_module' |
| 'timezone' | the package 'tzdata' |

- With 'ensure = "absent"' it is the other way round: a directory goes after what is in it, and a group after its members. A mount goes first.
- What is written counts: an order of this table that would close a cycle with 'require', 'before', 'notify' or 'subscribe' is left out.
- All else has to be written: a file of a package has 'require = ["package[nginx]"]', a service 'subscribe = ["file[/etc/nginx/nginx.conf]"]', and a package of pip, gem or npm requires the package that brings its program.

`

// notes are what a type says after its parameters.
var notes = map[string]string{
	callback.Function: functions(),
	"archive": `Nothing of an archive is written when one of its entries has an absolute path or ` + "`..`" + ` in it, is below a link, is a link that leads out of ` + "`extract_path`" + `, or a device or pipe; when it has more than 50,000 entries or 4 GiB;
or when it does not have its checksum. Files keep the permissions of the archive without setuid, setgid and sticky bit, and belong to ` + "`user`" + ` and ` + "`group`" + `, not to the owner that the archive names. A hard link becomes a copy.

- The ledger has what was extracted, each file with its digest. A plan names what others changed, removed or gave other permissions, and fetches nothing; an apply fetches the archive again to repair that.
- Another ` + "`checksum`" + ` brings the other archive, and what the former one had and it does not goes. A file that was there before slipway returns then, as it does when the resource is removed: at most 2,000 of them, of 64 MiB together, else it is an error. What others put below ` + "`extract_path`" + ` stays.
- A file of the archive with a ` + "`file`" + ` resource of its own is left to that. Such a resource comes after the archive without naming it.
- A ` + "`service`" + ` that is to restart with a new archive names it in ` + "`subscribe`" + `.
- ` + "`xz`" + ` and ` + "`zstd`" + ` need the program of that name on the node, a URL needs ` + "`curl`" + ` or ` + "`wget`" + `. Nothing runs through a shell.

`,
	"vcsrepo": `- Nobody is asked for a password, and none is in an argument list: a URL with one is an error, and ` + "`basic_auth_password`" + ` is in the environment of git, which gives it to the server of ` + "`source`" + ` only. git runs without a shell and takes https, http, ssh and git, and paths where ` + "`source`" + ` is one.
- A plan asks the server with ` + "`ensure = \"latest\"`" + ` only, and not when its password is a secret of the deployment; else all that it compares is on the node.
- Changes of files that the repository has, and submodules at another commit, are named as drift and dropped by the apply. Where the clone was there before slipway that is an error, unless ` + "`force`" + ` or ` + "`keep_local_changes`" + ` says what is meant. Files that the repository does not have are left alone.
- Removing the resource removes what git brought, and leaves files that the repository does not have. A clone that was there before returns to its source, branch and commit.
- ` + "`purge`" + ` of a ` + "`file`" + ` above a clone leaves the clone alone. Files of a clone with a ` + "`file`" + ` resource of their own come after it; they are changes, so give ` + "`keep_local_changes = true`" + `.

`,
	"package": `Packages of a node that nothing makes wait for each other are installed by one call of the package manager, also when other resources come in between; when it fails, each is tried by itself, so that the error is that of the
package that causes it. So a package may be installed before files, settings, cron jobs, kernel parameters and services that come before it in the plan, unless it requires them. It waits for what may matter to it: what
it requires, and, of what comes before it in the plan, commands, users, groups, hosts, mounts, links and directories, removals, and all below ` + "`" + `/etc/apt` + "`" + `, ` + "`" + `/etc/yum*` + "`" + `, ` + "`" + `/etc/dnf` + "`" + `, ` + "`" + `/etc/pki` + "`" + `, ` + "`" + `/etc/apk` + "`" + ` and ` + "`" + `/usr/share/keyrings` + "`" + `.

`,
}

var kinds = map[resource.Kind]string{
	resource.String: "string", resource.Bool: "bool", resource.Integer: "integer", resource.StringList: "list of strings",
	resource.StringMap: "map of strings",
}

// guide returns the whole page.
func guide() string {
	var b strings.Builder
	fmt.Fprintf(&b, head, indent(overview, "  "))
	b.WriteString("## Parameters of every type\n\n")
	table(&b, resource.Metaparameters())
	b.WriteString(strings.ReplaceAll(order, "'", "`"))
	schemas := schema.Types()
	secrets(&b, schemas)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		fmt.Fprintf(&b, "## %s\n\n%s", name, s.Summary)
		if s.NeedsMachine {
			b.WriteString(" Needs a whole machine: refused on a sandbox node.")
		}
		b.WriteString("\n\n")
		if example, ok := examples[name]; ok {
			fmt.Fprintf(&b, "```terraform\n%s```\n\n", example)
		}
		table(&b, s.Parameters)
		b.WriteString(notes[name])
	}
	appendix(&b, "Actions of remote tasks",
		"What `type` and `parameters` of a `remote` task of an entity may be (guide [Catalogs](catalog)).", schema.Actions())
	appendix(&b, "Callbacks", "What `type` and `parameters` of a `callback` of an entity may be. It runs on the machine that slipway runs on.", callback.Schemas())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// secrets lists the parameters that take secrets.
func secrets(b *strings.Builder, schemas map[string]resource.Schema) {
	b.WriteString(strings.ReplaceAll(secretsIntro, "'", "`"))
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		var take []string
		for _, p := range schemas[name].Parameters {
			if p.Secret {
				take = append(take, "`"+p.Name+"`")
			}
		}
		if len(take) == 0 {
			continue
		}
		drift := "not seen: the node does not keep it"
		if _, observes := types.All[name].(types.Observer); observes {
			drift = "seen"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, strings.Join(take, ", "), drift)
	}
	b.WriteString("\n")
}

const secretsIntro = `## Secrets

A [secret of the deployment](security.md#secrets-of-the-deployment) stands in a parameter as '{ secret = "name" }', alone or in a list, or as '$${secrets.name}' in its template:

'''terraform
configuration = {
  user      = { app = { password = { secret = "app_hash" } } }
  file_line = { db = { path = "/etc/app.env", line = { template = "DB_PASSWORD=$${secrets.db_password}" } } }
  exec = { migrate = {
    command     = "/opt/app/migrate"
    environment = ["PGUSER=app", { template = "PGPASSWORD=$${secrets.db_password}" }]
  } }
}
'''

These parameters take one. Every other one refuses it in the plan, by name, because others could read it there: in an argument list, or in a file that all may read. Drift of the value is seen where the node keeps it:

| type | parameters | drift of the value |
|---|---|---|
`

// appendix lists what is no configuration resource and has parameters as they have.
func appendix(b *strings.Builder, title, intro string, schemas map[string]resource.Schema) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, intro)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		fmt.Fprintf(b, "### %s\n\n%s\n\n", name, schemas[name].Summary)
		table(b, schemas[name].Parameters)
		b.WriteString(notes[name])
	}
}

// functions lists the functions that a callback may call, with their arguments and values.
func functions() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`interval` seconds after a try that failed, a function that waits tries again, until `timeout` ends. One try takes at most %d\n"+
		"seconds. `retries` begin the whole wait anew.\n\n", callback.LongestTry/time.Second)
	b.WriteString("| function | does | arguments | returns |\n|---|---|---|---|\n")
	for _, f := range callback.Builtins() {
		arguments := make([]string, len(f.Arguments))
		for i, a := range f.Arguments {
			arguments[i] = "`" + a.Name + "`"
			if a.Required {
				arguments[i] += ", required"
			}
			arguments[i] += ": " + a.Description
		}
		values := "nothing"
		if len(f.Values) > 0 {
			values = "`" + strings.Join(f.Values, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Summary, strings.Join(arguments, " "), values)
	}
	return b.String() + "\n"
}

func table(b *strings.Builder, parameters []resource.Parameter) {
	b.WriteString("| parameter | kind | meaning |\n|---|---|---|\n")
	for _, p := range parameters {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, kind(p), strings.ReplaceAll(meaning(p), "|", "\\|"))
	}
	b.WriteString("\n")
}

func kind(p resource.Parameter) string {
	text := kinds[p.Kind]
	if p.Text {
		text += " or string"
	}
	if p.Commands {
		text = "list of strings or of lists of them"
	}
	if p.Required {
		text += ", required"
	}
	if p.Sensitive {
		text += ", never shown"
	}
	if p.Secret {
		text += ", or a secret"
	}
	return text
}

// meaning is the description, with the values allowed where it does not name them itself.
func meaning(p resource.Parameter) string {
	text := p.Description
	listed := !slices.ContainsFunc(p.Values, func(v string) bool { return !strings.Contains(text, v) })
	if len(p.Values) > 0 && !listed {
		text += " One of `" + strings.Join(p.Values, "`, `") + "`."
	}
	return text
}

// indent puts a margin before every line of an example.
func indent(text, margin string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(margin + line)
	}
	return b.String()
}
