package resources

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewGroup returns slipway_group: nodes that are rolled out together, as desired state.
func NewGroup() resource.Resource { return &held{object: "group", schema: groupSchema} }

func groupSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A deployment group: a named set of nodes that is rolled out together, after the groups that it depends on. It connects to nothing; `slipway_deployment` does the work. " +
			"Import takes the group's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name": nameAttribute("group"),
			"critical": schema.BoolAttribute{
				Required: true,
				MarkdownDescription: "Whether the failure of this group makes the apply fail. It fails after every group that does not depend on this one had its turn. " +
					"A group that is not critical leaves a warning and work for the next plan.",
			},
			"depends_on_groups": list("Names of the groups that must be deployed before this one. When one of them fails, this group fails with it and its nodes are not touched.",
				listvalidator.UniqueValues(), listvalidator.ValueStringsAre(values.NameValidator())),
			"selectors": selectorsAttribute("the group has"),
			"success_criteria": object("When the group counts as successful; judged after prepare and after deploy, over all nodes that its selectors select. Any criterion that is not met fails the group. Left out, the group always succeeds, unless one of its batches fails; a plan warns of that where the group is critical.", map[string]schema.Attribute{
				"percent_successful_nodes": number("Share of the nodes that must succeed, in percent, 0 to 100.", int64validator.Between(0, 100)),
				"minimum_successful_nodes": number("Number of nodes that must succeed, 0 or more.", int64validator.Between(0, mostNodes)),
				"maximum_failed_nodes":     number("Number of nodes that may fail, 0 or more.", int64validator.Between(0, mostNodes)),
			}, oneCriterion("Without any criterion, leave success_criteria out.")),
			"rolling": object("Work on a few nodes of the group at a time, each between `lock` and `unlock`. Left out, the deployment's `parallelism` alone counts.", map[string]schema.Attribute{
				"max_parallel":   amount("How many nodes of the group are worked on at once, 1 or more. Default 1.", 1, mostNodes),
				"lock":           text("Command that is run on a node before its first task in the task groups `upgrade_boot`, `storage_upgrade` and `node`, to drain it. When it fails, the node is not touched. It requires `unlock`: a node that is locked must be unlocked.", stringvalidator.LengthAtLeast(1), stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("unlock"))),
				"unlock":         text("Command that is run on a node after its last task in these task groups, whatever came out. It always runs on a node that was locked; the node remembers it, for runs that do not have it any more. It may stand without `lock`.", stringvalidator.LengthAtLeast(1)),
				"lock_new_nodes": flag("Whether nodes on which nothing of the site is applied yet are locked, too. Default true. With `false` they are worked on without `lock` and `unlock`: there is nothing to drain, and the commands may not be there yet."),
				"node_order": list("Names of the group's nodes in the order in which they are worked on in the task groups `upgrade_boot`, `storage_upgrade` and `node`, each once; `\"*\"` stands for all nodes that are not named, by name. Default: by name. Nodes that `lock_new_nodes = false` spares come last all the same.",
					listvalidator.UniqueValues(), listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))),
				"batches": list("Cumulative shares of the nodes that the group works on, sorted by name: numbers such as `\"1\"` and percentages such as `\"10%\"`, rounded up, each larger than the one before. Each batch ends, with its `health_check` and `soak`, before the next one starts; what the last share leaves is one more batch. A batch of which fewer nodes succeed than `percent_successful_nodes` says (all, where it is not given) fails the group, and is its last. All nodes are prepared before the first batch.", listvalidator.SizeAtLeast(1)),
				"approve": list("Those of `batches` after which the run waits for approval: the companion's `runs approve RUN`. `\"100%\"` waits before what runs once for all nodes. A batch is approved after its `health_check` and `soak`, and the wait does not count towards `deploy_timeout`.", listvalidator.SizeAtLeast(1), listvalidator.UniqueValues()),
				"health_check": object("Command that says whether a node works. It is run on each node after its tasks and `unlock`, and again after `soak`; a node on which it fails has failed.", map[string]schema.Attribute{
					"command": schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
						MarkdownDescription: "Command for `/bin/sh`. Exit status 0: the node works."},
					"timeout":  text("Bound on one run of the command, as a duration. Default 30s.", durationValidator()),
					"retries":  number("How often the command is run again when it fails. Default 0.", int64validator.Between(0, 1000)),
					"interval": text("Time before the command is run again, as a duration. Default 10s.", durationValidator()),
				}),
				"soak": text("Time that passes after each batch before its nodes are checked again and the next batch starts, as a duration such as `10m`. It does not count towards `deploy_timeout`, which each batch has for itself.", durationValidator()),
				"on_failure": text("What happens when a batch fails. `stop` starts no further node. `rollback` also puts the nodes of that batch back to what they had before this run, those that succeeded among them: configuration resources, and the services that ran. Packages, and what commands did, stay, and are named in the report. Default `stop`.",
					stringvalidator.OneOf(site.OnFailureStop, site.OnFailureRollback)),
			}),
			"on_shortfall": text("What the group does when it can no longer meet its `success_criteria`. `stop` starts no further node; what runs is finished and unlocked. "+
				"`continue` works on all nodes. Default: `stop` with `rolling`, else `continue`.", stringvalidator.OneOf(site.OnShortfallStop, site.OnShortfallContinue)),
			"maintenance": object("Maintenance window of the group. Outside of it no node of the group is started; what runs when it closes is finished. The run waits until it opens, or ends as `paused`, see `approval` of the deployment. Left out, nodes are started at any time.", map[string]schema.Attribute{
				"days":     list("Days on which it opens: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. Default: every day.", listvalidator.UniqueValues()),
				"start":    schema.StringAttribute{Required: true, MarkdownDescription: "When it opens, on the clock of `timezone`, such as `22:00`."},
				"end":      schema.StringAttribute{Required: true, MarkdownDescription: "When it closes, `24:00` at most. A time before `start` is on the next day."},
				"timezone": schema.StringAttribute{Required: true, MarkdownDescription: "Time zone of the IANA database, such as `Europe/London` or `UTC`. A time that its clock skips is the moment after the skip; of one that comes twice, the first counts."},
			}),
			"prepare_timeout": text("Bound on preparing the group's nodes, as a duration such as `10m`. Default 30m. Nodes that finished in time count as successful.", durationValidator()),
			"deploy_timeout":  text("Bound on deploying the group's nodes, as a duration such as `2h`. Default 1h. Nodes that finished in time count as successful.", durationValidator()),
		},
	}
}

// mostNodes bounds numbers of nodes, so that they fit every int.
const mostNodes = 1 << 30

const allNodes = "write selectors = [] for all nodes"

// selectorsAttribute is `selectors` of groups and services.
func selectorsAttribute(what string) schema.ListNestedAttribute {
	criterion := func(description string, element ...validator.String) schema.ListAttribute {
		return list(description+" A criterion that is left out or empty is ignored.", listvalidator.ValueStringsAre(element...))
	}
	return schema.ListNestedAttribute{
		Required: true, Validators: []validator.List{values.NoNulls{}},
		MarkdownDescription: "Which nodes " + what +
			": those that any of the selectors selects; `[]` selects all nodes. A selector selects the nodes that meet all of its criteria; " +
			"a criterion is met by any one of its values.",
		NestedObject: schema.NestedAttributeObject{
			Validators: []validator.Object{oneCriterion(strings.ToUpper(allNodes[:1]) + allNodes[1:] + ".")},
			Attributes: map[string]schema.Attribute{
				"node_names":  criterion("Names of nodes.", stringvalidator.LengthAtLeast(1)),
				"node_tags":   criterion("Tags, any of which the node has.", stringvalidator.LengthAtLeast(1)),
				"node_labels": criterion("Labels as `key:value`, any of which the node has. White space around the colon is dropped.", labelSelectorValidator()),
				"rack_names":  criterion("Names of racks.", stringvalidator.LengthAtLeast(1)),
			},
		},
	}
}
