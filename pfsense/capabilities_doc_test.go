package pfsense

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"countersign/core"
	"countersign/pfsense/sim"
)

var update = flag.Bool("update", false, "write the generated documents anew")

const capabilitiesDoc = "../docs/capabilities.md"

// TestCapabilitiesDocument keeps docs/capabilities.md equal to what the
// capabilities really do.
func TestCapabilitiesDocument(t *testing.T) {
	var out strings.Builder
	out.WriteString(capabilitiesPreface + commonPreface)
	common := refusals(nil)
	writeRefusals(&out, "", common)
	for _, test := range suiteCases() {
		describeCapability(&out, newBench(t, test, sim.Profile2100))
	}
	if *update {
		if err := os.WriteFile(capabilitiesDoc, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	now, err := os.ReadFile(capabilitiesDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(now) != out.String() {
		t.Error("docs/capabilities.md is not what the capabilities do; run go test ./pfsense -run CapabilitiesDocument -update")
	}
}

const capabilitiesPreface = `# Capabilities

What this build can change, and by which rules. This page is generated from the
capabilities themselves by a test; do not edit it. The examples are what is sent
to the simulator's own configuration.

Every change is one PATCH of one object. The target is found by its identity,
which must be unique, in a reading of the whole list; its position (id) is never
an identity. A 4xx counts as proof that nothing was written only if the API's own
envelope carries one of the listed response ids; everything else after the first
byte is ambiguous and goes to a person.
`

const commonPreface = `
These response ids prove it for every capability; each lists its own besides:

`

func describeCapability(out *strings.Builder, b *bench) {
	_, req, o := b.prepare()
	spec := b.spec
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	line("\n## %s\n", spec.Title)
	line("`%s` · `%s` · `%s`\n", spec.Capability, spec.EndpointSymbol, spec.SemanticUnit)
	line("- identity: %s", code(slices.Sorted(maps.Keys(o.Identity))))
	line("- fingerprint: %s", code(slices.Sorted(maps.Keys(o.Projection))))
	line("- reads: %s", code(spec.Reads()))
	if len(spec.OptionalReads) > 0 {
		line("- looks references up in, where it may: %s", code(spec.OptionalReads))
	}
	line("- asks for: %s", asked(b.c.Form(o)))
	line("- sends: `%s %s` `%s`", spec.Method, spec.WritePath, b.forward(req, o))
	line("- guard: %s", guardText(b, o))
	line("- loading: %s", loadText(spec))
	line("- way back: %s", spec.WayBack)
	line("- absent in: %s", absentText(b.test.absent))
	if own := ownRefusals(spec.Refusals); len(own) > 0 {
		line("- own proofs that nothing was written:")
		writeRefusals(out, "  ", own)
	}
	line("- refused before anything is created:")
	for _, c := range refusedCases() {
		if c.symbol == spec.EndpointSymbol {
			line("  - %s%s", c.name, harmText(c.harm))
		}
	}
}

// ownRefusals leaves out what every capability has.
func ownRefusals(all core.Refusals) core.Refusals {
	common, own := refusals(nil), core.Refusals{}
	for status, ids := range all {
		for _, id := range ids {
			if !common.Proves(status, id) {
				own[status] = append(own[status], id)
			}
		}
	}
	return own
}

func writeRefusals(out *strings.Builder, indent string, refusals core.Refusals) {
	for _, status := range slices.Sorted(maps.Keys(refusals)) {
		fmt.Fprintf(out, "%s- %d: %s\n", indent, status, code(slices.Sorted(slices.Values(refusals[status]))))
	}
}

func harmText(h harm) string {
	if h == otherwise {
		return ""
	}
	return " (the appliance " + string(h) + ")"
}

func code(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func asked(fields []core.Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return code(out)
}

func guardText(b *bench, o core.Observation) string {
	if o.Guard == nil {
		return "none; " + b.test.unguarded
	}
	return "a stored field that cannot be edited is sent along, so that the appliance refuses a shifted position"
}

func loadText(s core.Spec) string {
	if s.Loads == core.LoadsAtOnce {
		return "none needed"
	}
	announced := "never announced as waiting"
	if len(s.Marks) > 0 {
		announced = "announced as waiting by " + strings.Join(s.Marks, ", ")
	}
	return "asked for as a step of its own (" + string(s.Loads) + "); " + announced
}

func absentText(profiles []string) string {
	if len(profiles) == 0 {
		return "none of the supported versions"
	}
	return strings.Join(profiles, ", ")
}
