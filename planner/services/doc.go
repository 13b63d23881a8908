// Package services plans the services of a site and records what became of them: it compares the inventory with the
// wanted services and applies the outcomes of runs to it (design.md 8, lsm.md 20). It is pure.
//
// \tplan     Plan compares the wanted services with the inventory and starts transfers (creation, update, deletion,
// \t         requests). It allocates values and returns the site to deploy: the services in a state that exports, with
// \t         their active attributes. The caller plans that site, which validates every candidate; an error there
// \t         refuses the whole plan.
// \trun      The caller deploys that site and reports the outcome of each service.
// \toutcome  Conclude executes the transfers that follow. If they change what must be deployed, as a rollback does, the
// \t         services concerned get another pass: plan, run, outcome.
// \tstate    State returns the inventory for the next plan.
//
// The name of a service is its id in the inventory. A service is replaced by a new one, with the next incarnation, when
// a fixed attribute (rw) or its entity changes. The definition of a set (entity, lifecycle and selectors) stays with
// the set, so that a rollback restores it too.
package services
