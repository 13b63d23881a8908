package resources_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// sharingCatalog is webCatalog with a first file that all services bring.
var sharingCatalog = strings.ReplaceAll(webCatalog, `title: "/etc/${service.name}", parameters: {content: "${self.size} ${self.port}\n"}`,
	`title: /etc/shared, parameters: {content: "${self.size}\n"}`)

// What two services bring with equal parameters is one resource on the node. It goes with the last of them; where one of
// them is rolled back alone, it stays as the other one has it; where it fails, both are failed.
func TestServicesShare(t *testing.T) {
	s := newSandbox(t, "a")
	with := func(services map[string]string) string {
		return webSiteWith(s, []string{"a"}, services, "rollback_on_failure = true", sharingCatalog)
	}
	both := func(web, api string) string {
		return with(map[string]string{"web": `{ name = "web", ` + web + ` }`, "api": `{ name = "api", ` + api + ` }`})
	}
	is := func(name, state string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr(deployment, "service_status."+name+".state", state)
	}
	steps := func(i, text string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttrWith(deployment, "steps."+i, func(got string) error {
			if !strings.Contains(got, text) {
				t.Errorf("steps[%s] is %q, want %q in it", i, got, text)
			}
			return nil
		})
	}
	run(t, []resource.TestStep{
		{Config: both("size = 1", "size = 1"), Check: resource.ComposeTestCheckFunc(s.has("a", "etc/shared", "1\n"),
			steps("3", "create file[/etc/shared] (brought by api, web)"))},
		{Config: both("size = 1", "size = 2"), ExpectError: wrapped(`service "web", entity.tasks\[0\]: the service "api" ` +
			`brings file\[/etc/shared\] as well, with other parameters: content is "1\\n" here and "2\\n" there; write the same ` +
			`in both`)},
		// The update of one fails and is rolled back: what they share stays as the other one has it.
		{Config: both(`size = 2, dir = "opt"`, "size = 2"), ExpectError: wrapped(`file\[/etc/shared\] ` +
			`stays as it is for web, deployed again without api, which brings it, too(?s:.*)The update of the service "web" was rolled back`)},
		{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(is("web", "up"), is("api", "up"),
			s.has("a", "etc/shared", "2\n"), s.has("a", "etc/web.conf", "web 1\n"), s.has("a", "etc/api.conf", "api 2\n"))},
		{PreConfig: func() { s.mkdir("a", "opt") }, Config: both(`size = 2, dir = "opt"`, "size = 2"),
			Check: resource.ComposeTestCheckFunc(is("web", "up"), s.has("a", "opt/web.conf", "web 2\n"))},
		{Config: both(`size = 2, dir = "opt"`, "size = 2"), ConfigPlanChecks: nothingPlanned()},
		// Both are rolled back: so is what they share.
		{Config: both(`size = 3, dir = "none"`, `size = 3, dir = "none"`), ExpectError: wrapped(`The update of the service "api" was rolled back(?s:.*)The update of the service "web" was rolled back`)},
		{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(s.has("a", "etc/shared", "2\n"),
			is("web", "up"), is("api", "up"))},
		{Config: both(`size = 2, dir = "opt"`, "size = 2")},
		// It cannot be repaired: both are failed, the one that did not change, too.
		{PreConfig: func() {
			s.must(os.Remove(s.path("a", "etc/shared")))
			s.must(os.MkdirAll(s.path("a", "etc/shared/full"), 0o755))
		}, Config: both(`size = 2, dir = "etc"`, "size = 2"), ExpectError: wrapped(`file\[/etc/shared\]`)},
		{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(is("api", "failed"))},
		{PreConfig: func() { s.must(os.RemoveAll(s.path("a", "etc/shared"))) },
			Config: both(`size = 2, dir = "etc"`, "size = 2"), Check: resource.ComposeTestCheckFunc(is("web", "up"), is("api", "up"))},
		// It goes with the last one that brings it.
		{Config: with(map[string]string{"web": `{ name = "web", size = 2 }`}), Check: resource.ComposeTestCheckFunc(
			s.has("a", "etc/shared", "2\n"), s.has("a", "etc/api.conf", "-"))},
		{Config: with(nil), Check: s.has("a", "etc/shared", "-")},
	}, s.gone("a"))
}

// Two services are rolled back to versions that want unequal forms of what they share, as one of them was rolled back
// before: it stays as it was before the run, also where the run changed it.
func TestServicesWithUnequalFormsRolledBack(t *testing.T) {
	s := newSandbox(t, "a")
	both := func(web, api string) string {
		return webSiteWith(s, []string{"a"}, map[string]string{"web": `{ name = "web", ` + web + ` }`,
			"api": `{ name = "api", ` + api + ` }`}, "rollback_on_failure = true", sharingCatalog)
	}
	unequal := wrapped(`file\[/etc/shared\] stays as it was before the run: api, web, deployed again, want it in different ` +
		`forms(?s:.*)The update of the service "api" was rolled back(?s:.*)The update of the service "web" was rolled back`)
	is := resource.TestStep{RefreshState: true, ExpectNonEmptyPlan: true, Check: resource.ComposeTestCheckFunc(
		s.has("a", "etc/shared", "2\n"), s.has("a", "etc/api.conf", "api 1\n"), s.has("a", "etc/web.conf", "web 2\n"))}
	run(t, []resource.TestStep{
		{Config: both("size = 1", "size = 1")},
		{Config: both("size = 2", `size = 2, dir = "none"`), ExpectError: wrapped(`stays as it is for api, deployed again ` +
			`without web(?s:.*)The update of the service "api" was rolled back`)},
		is,
		{Config: both(`size = 2, dir = "none"`, `size = 2, dir = "none"`), ExpectError: unequal},
		is,
		{Config: both(`size = 3, dir = "none"`, `size = 3, dir = "none"`), ExpectError: unequal},
		is,
		{Config: both("size = 2", "size = 2"), Check: s.has("a", "etc/api.conf", "api 2\n")},
	}, s.gone("a"))
}
