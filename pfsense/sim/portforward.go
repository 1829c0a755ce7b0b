package sim

import "fmt"

// portForwardHooks keep the linked filter rule in step. They run after the port forward itself has been written, so an
// error here leaves half of the change done.
func portForwardHooks() hooks {
	return hooks{
		beforeCreate: func(o *object) {
			if o.text("associated_rule_id") == "new" {
				o.vals["associated_rule_id"] = o.s.srv.uniqueID()
			}
		},
		afterCreate: (*object).createLinkedRule,
		afterUpdate: (*object).updateLinkedRule,
		afterRemove: (*object).removeLinkedRule,
	}
}

func (o *object) linkID() (string, bool) {
	id := o.text("associated_rule_id")
	return id, id != "" && id != "pass"
}

func (o *object) linkedValues() *dict {
	d := newDict("type", "pass")
	if o.s.profile.ruleFollowsState || o.initial == nil {
		d.set("disabled", o.vals["disabled"])
	}
	d.set("interface", []any{o.vals["interface"]})
	for _, name := range []string{"ipprotocol", "protocol", "source", "source_port"} {
		d.set(name, o.vals[name])
	}
	d.set("destination", o.vals["target"])
	d.set("destination_port", o.vals["local_port"])
	return d
}

func (o *object) createLinkedRule() *apiError {
	id, linked := o.linkID()
	if !linked {
		return nil
	}
	rule := o.s.newObject(o.s.profile.tables.models["FirewallRule"])
	rule.actor = o.s.client.user
	rule.assign(o.linkedValues())
	rule.vals["descr"] = fmt.Sprintf("Associated rule for port forward rule %s", id)
	rule.vals["associated_rule_id"] = id
	if err := rule.create(false, false); err != nil {
		return fail("PORT_FORWARD_ASSOCIATED_FIREWALL_RULE_CREATION_FAILED",
			"Failed to create associated firewall rule for port forward rule: %s", err.message)
	}
	return nil
}

func (o *object) linkedRules() ([]*object, *apiError) {
	id, linked := o.linkID()
	if !linked {
		return nil, nil
	}
	return o.s.query(o.s.profile.tables.models["FirewallRule"], listQuery{filters: newDict("associated_rule_id", id)})
}

func (o *object) updateLinkedRule() *apiError {
	rules, err := o.linkedRules()
	if err != nil || len(rules) == 0 {
		return err
	}
	rule := rules[0]
	rule.updater = "(system)"
	rule.assign(o.linkedValues())
	if err := rule.update(false, false, false, false); err != nil {
		return fail("PORT_FORWARD_ASSOCIATED_FIREWALL_RULE_UPDATE_FAILED",
			"Failed to update associated firewall rule for port forward rule: %s", err.message)
	}
	return nil
}

func (o *object) removeLinkedRule() *apiError {
	rules, err := o.linkedRules()
	if err != nil {
		return err
	}
	return removeMany(rules)
}
