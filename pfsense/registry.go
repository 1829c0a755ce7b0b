package pfsense

import "countersign/core"

// Capabilities is the closed set of changes that this build can make. What is
// not here cannot be prepared, sent or rolled back.
func Capabilities() core.SpecSet {
	return core.SpecSet{
		newAliasDescription(),
		newAliasEntries(),
		newRuleEnabled(),
		newRuleDescription(),
		newPortForwardEnabled(),
		newHostOverrideAddress(),
		newStaticRouteEnabled(),
		newNTPTimeServer(),
		newNTPObservability(),
		newLogDisplay(),
		newLogRetention(),
		newTimezone(),
	}
}
