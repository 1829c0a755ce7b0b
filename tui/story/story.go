// Package story runs the whole life of contracts on real parts and tells
// what happened, one line a step: the headless half of the demo. Each scene
// gets a bench of its own, so that no scene can lean on another, and ends
// with an error unless everything came out as it must.
package story

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"countersign/core"
)

// Bench is one fresh set of real parts: a store on disk, a keyring, the
// simulator over HTTPS, and an engine over them.
type Bench interface {
	// Engine is the present engine; Reopen replaces it.
	Engine() *core.Engine
	// Operator is the enrolled operator and their passphrase.
	Operator() (name string, passphrase []byte)
	// SignOffHost makes a one-shot authorization with the off-host key.
	SignOffHost(d core.Draft) (core.Authorization, error)
	// Sends is how many mutating requests the appliance has received,
	// counted by the simulator.
	Sends() int
	// AliasDescription is what is stored on the appliance.
	AliasDescription(alias string) string
	// EditAlias is another administrator at work.
	EditAlias(alias, description string)
	// LoseNextAnswer makes the appliance commit the next change and drop the
	// connection without an answer.
	LoseNextAnswer()
	// ExecuteAndDie executes a contract in another process that is really
	// killed between the durable acquisition and the send, and reopens.
	ExecuteAndDie(ctx context.Context, contractID string) (core.StartReport, error)
	// FlipRecordByte changes one byte of a stored record behind the store's
	// back, and reopens.
	FlipRecordByte(ctx context.Context, contractID string) (core.StartReport, error)
	// Elapse moves the clock.
	Elapse(d time.Duration)
	// Reopen ends the engine and starts another over the same store.
	Reopen(ctx context.Context) error
	Close() error
}

// Step is one line of the story.
type Step struct {
	Scene    string `json:"scene"`
	Step     string `json:"step"`
	Contract string `json:"contract"`
	State    string `json:"state"` // as operators read it: "VERIFIED"; "" without a contract
	Sends    int    `json:"sends"` // counted by the simulator
	Detail   string `json:"detail"`
}

// Teller writes steps as they happen.
type Teller interface {
	Tell(Step) error
	End(ok bool, scenes int) error
}

// Run plays every scene and tells it. The error names the first scene that
// did not end as it must; the others are played all the same.
func Run(ctx context.Context, make func(context.Context) (Bench, error), tell Teller) error {
	var failed error
	scenes := Scenes()
	for _, s := range scenes {
		if err := play(ctx, s, make, tell); err != nil && failed == nil {
			failed = fmt.Errorf("scene %s: %w", s.Name, err)
		}
	}
	if err := tell.End(failed == nil, len(scenes)); err != nil {
		return err
	}
	return failed
}

// stepFailed is the last step of a scene that did not end as it must.
const stepFailed = "failed"

func play(ctx context.Context, s Scene, make func(context.Context) (Bench, error), tell Teller) error {
	bench, err := make(ctx)
	if err != nil {
		return joinTold(tell.Tell(Step{Scene: s.Name, Step: stepFailed, Detail: "could not begin: " + err.Error()}), err)
	}
	defer bench.Close()
	t := &told{Bench: bench, ctx: ctx, scene: s.Name, tell: tell}
	if err := s.play(t); err != nil {
		return joinTold(t.say(stepFailed, t.last, "did not end as it must: "+err.Error()), err)
	}
	return t.say("end", t.last, s.Ends)
}

func joinTold(telling, err error) error {
	if telling != nil {
		return telling
	}
	return err
}

// JSONTeller prints one JSON object a line.
type JSONTeller struct{ W io.Writer }

// Tell prints a step.
func (j JSONTeller) Tell(s Step) error { return json.NewEncoder(j.W).Encode(s) }

// End prints the last line.
func (j JSONTeller) End(ok bool, scenes int) error {
	return json.NewEncoder(j.W).Encode(struct {
		OK     bool `json:"ok"`
		Scenes int  `json:"scenes"`
	}{ok, scenes})
}

// TextTeller prints the story for people.
type TextTeller struct {
	W     io.Writer
	scene string
}

// Tell prints a step under its scene's heading.
func (p *TextTeller) Tell(s Step) error {
	if s.Scene != p.scene {
		p.scene = s.Scene
		if _, err := fmt.Fprintf(p.W, "\n%s\n", s.Scene); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.W, "  %-12s %-15s sends %d  %s\n", s.Step, s.State, s.Sends, s.Detail)
	return err
}

// End prints the result.
func (p *TextTeller) End(ok bool, scenes int) error {
	verdict := "every scene ended as it must"
	if !ok {
		verdict = "not every scene ended as it must"
	}
	_, err := fmt.Fprintf(p.W, "\n%d scenes, %s\n", scenes, verdict)
	return err
}
