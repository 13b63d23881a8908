package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// unhashed warns of each user whose password is probably in clear where its hash should be. No warning has the
// password; secrets of the deployment are not known here.
func unhashed(tasks []task.Task) (errs invalid.Errors) {
	for i := range tasks {
		r := tasks[i].Resource
		password := r.Parameters.String("password")
		if r.Type != "user" || password == "" || resource.SecretIn(password) || schema.IsPasswordHash(password) {
			continue
		}
		object, name := bringerOf(tasks[i])
		errs = append(errs, invalid.Error{Object: object, Name: name, Code: invalid.BadParameter, Warning: true,
			Attribute: site.ConfigurationPath(r.Type, r.Title, "password"), Message: "is no hash as crypt(3) gives it, so no " +
				"password fits it; give what `openssl passwd -6` prints, or `!` for none that fits. The value is not shown"})
	}
	return errs
}
