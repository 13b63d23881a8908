package item

import "iter"

// Nearest is the item itself or its closest ancestor with one of these roles; nil when there is none.
func (it *Item) Nearest(roles ...Role) *Item {
	for ; it != nil; it = it.parent {
		for _, role := range roles {
			if it.Role() == role {
				return it
			}
		}
	}
	return nil
}

// Node is the node that the item is or belongs to; nil when it is on none.
func (it *Item) Node() *Item { return it.Nearest(RoleNode) }

// Management is the management server that the item is or belongs to; nil when it is not on one.
func (it *Item) Management() *Item { return it.Nearest(RoleManagement) }

// Host is the node or the management server that the item is or belongs to; nil when it is on neither.
func (it *Item) Host() *Item { return it.Nearest(RoleNode, RoleManagement) }

// Cluster is the cluster that the item is or belongs to; nil when it is in none.
func (it *Item) Cluster() *Item { return it.Nearest(RoleCluster) }

// Site is the site that the item is or belongs to; nil when it is in none.
func (it *Item) Site() *Item { return it.Nearest(RoleSite) }

// OfType walks the items of a type, and of types that extend it, within an item, in path order. The tree must not change meanwhile.
func (it *Item) OfType(id string) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for below := range it.Walk() {
			if below.Is(id) && !yield(below) {
				return
			}
		}
	}
}

// WithRole walks the items with a role within an item, in path order. The tree must not change meanwhile.
func (it *Item) WithRole(role Role) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for below := range it.Walk() {
			if below.Role() == role && !yield(below) {
				return
			}
		}
	}
}
