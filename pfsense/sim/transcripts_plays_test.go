package sim_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/pfsense/sim"
)

// edits turn the built-in configuration into the start that a scenario names.
var edits = map[string][]string{
	"seed with RESTAPI read_only enabled": {"<read_only>disabled", "<read_only>enabled"},
	"seed with the REST API disabled":     {"<conf><enabled>enabled", "<conf><enabled>disabled"},
	"seed with the access list allowing only 192.0.2.0/24 (client is 127.0.0.1)": {
		"<network>0.0.0.0/0", "<network>192.0.2.0/24", "<network>0::/0", "<network>2001:db8::/32"},
	"seed with auth_methods=BasicAuth only (the package default)":                        {"BasicAuth,JWTAuth,KeyAuth", "BasicAuth"},
	"seed with an empty <statetype> in rule 0 (as old configurations have)":              {"<statetype><![CDATA[keep state]]></statetype><os>", "<statetype></statetype><os>"},
	"seed with an empty <statetype> in the filter rule that is linked to port forward 0": {"<protocol>tcp</protocol><statetype><![CDATA[keep state]]>", "<protocol>tcp</protocol><statetype>"},
	"seed with rule 3 of type match and rule 1 with max-src-conn=5": {
		"<tracker>1700000004</tracker><type>pass", "<tracker>1700000004</tracker><type>match",
		"<descr><![CDATA[Block known bad]]></descr>", "<descr><![CDATA[Block known bad]]></descr><os></os><max-src-conn>5</max-src-conn><dscp></dscp><vlanprio></vlanprio>"},
	"seed with url and url_ports aliases at ids 6 and 7": {
		"<alias><name>empty_one", "<alias><name>url_hosts</name><type>url</type><aliasurl>https://feeds.example.net/a</aliasurl><address>192.0.2.31 192.0.2.32</address>" +
			"<descr><![CDATA[two lists]]></descr><detail><![CDATA[Entry added||Entry added]]></detail></alias>" +
			"<alias><name>url_ports</name><type>url_ports</type><address>1000 2000</address><descr></descr></alias><alias><name>empty_one"},
	"seed with remote logging as the web GUI stores it: one server, the other two as empty texts": {
		"<syslog>", "<syslog><enable></enable><logall></logall>", "<remoteserver></remoteserver>", "<remoteserver>192.0.2.50</remoteserver>"},
}

// conditions put the appliance into the trouble that a scenario (or a step) names.
var conditions = map[string]func(*sim.Conditions){
	"the endpoint file is missing (package being updated)":                                                            func(c *sim.Conditions) { c.PackageUpdating = true },
	"PHP-FPM is not running (being restarted, or crashed)":                                                            func(c *sim.Conditions) { c.PHPDown = true },
	"PHP-FPM has been started again":                                                                                  func(c *sim.Conditions) { c.PHPDown = false },
	"package installed, but the web GUI has not been reloaded since (no /api/v2/ location in nginx yet)":              func(c *sim.Conditions) { c.NotReloaded = true },
	"pfctl rejects the generated ruleset (syntax error)":                                                              func(c *sim.Conditions) { c.RulesDoNotLoad = true },
	"no process can be started (out of processes or memory), or the job ended before its process id could be checked": func(c *sim.Conditions) { c.SpawnFails = true },
	"request sent to the plain-HTTP listener of a GUI that is set to HTTPS (pfSense default)":                         func(*sim.Conditions) {},
}

var (
	reloadTakes  = regexp.MustCompile(`the (?:filter )?reload takes about (\d+) s`)
	settingNamed = regexp.MustCompile(`^seed with (auth_methods|represent_interfaces_as|allowed_interfaces|hateoas)=? ?([\w,]+)`)
)

// condition finds the trouble that a start names.
func condition(start string) (func(*sim.Conditions), bool) {
	if m := reloadTakes.FindStringSubmatch(start); m != nil {
		seconds, _ := strconv.Atoi(m[1])
		return func(c *sim.Conditions) { c.ReloadTime = time.Duration(seconds) * time.Second }, true
	}
	set, ok := conditions[start]
	return set, ok
}

// settingStored is the stored form of a setting of the package, up to its value's end.
func settingStored(cfg []byte, name string) string {
	return regexp.MustCompile("<" + name + ">[^<]*").FindString(string(cfg))
}

func startConfig(start string) ([]byte, bool) {
	text, err := os.ReadFile(filepath.Join("data", "seed-config.xml"))
	if err != nil {
		return nil, false
	}
	pairs, isEdit := edits[start]
	if m := settingNamed.FindStringSubmatch(start); m != nil && !isEdit {
		pairs, isEdit = []string{settingStored(text, m[1]), "<" + m[1] + ">" + m[2]}, true
	}
	_, isCondition := condition(start)
	_, isPlay := play(start)
	if start != "seed" && !isEdit && !isCondition && !isPlay {
		return nil, false
	}
	out := string(text)
	for i := 0; i+1 < len(pairs); i += 2 {
		out = strings.Replace(out, pairs[i], pairs[i+1], 1)
	}
	return []byte(out), true
}

// plays are the starts in which more happens than one request after the other.
var plays = []struct {
	start *regexp.Regexp
	play  func(*replay, []*transcript)
}{
	{regexp.MustCompile(`^several hundred port forwards`), slowList},
	{regexp.MustCompile(`write lock file exists and is not released`), lockHeld},
	{regexp.MustCompile(`holds the write lock; the client gives up`), lateWrite},
	{regexp.MustCompile(`requests .*in flight at the same time`), lostUpdate},
	{regexp.MustCompile(`^a write is waiting for the configuration lock`), readDuringWrite},
	{regexp.MustCompile(`^the client sent POST .*, apply, async false\) and closed the connection`), clientGaveUp},
}

// play finds what happens besides the requests, from the start that a scenario names.
func play(start string) (func(*replay, []*transcript), bool) {
	for _, p := range plays {
		if p.start.MatchString(start) {
			return p.play, true
		}
	}
	return nil, false
}

// howToPlay chooses by what the recordings say, never by the names of scenarios and files.
func (r *replay) howToPlay(steps []*transcript) func(*replay, []*transcript) {
	if p, ok := play(r.sc.StartsFrom); ok {
		return p
	}
	waited := slices.ContainsFunc(steps, func(tr *transcript) bool { return tr.Elapsed >= 1 })
	if reloadTakes.MatchString(r.sc.StartsFrom) && !waited {
		return still
	}
	return (*replay).each
}

// still replays with the clock standing: no answer waited for the slow reloads, so they stay under way until a step
// shows that what was pending is applied.
func still(r *replay, steps []*transcript) {
	if set, ok := condition(r.sc.StartsFrom); ok {
		r.srv.Admin().SetConditions(set)
	}
	pending := false
	for _, tr := range steps {
		applied, shown := tr.applied()
		if pending && applied {
			r.settle()
		}
		if shown {
			pending = !applied
		}
		r.check(tr, r.exchange(context.Background(), tr))
	}
}

// applied reads the state of the apply endpoints out of a recorded answer.
func (tr *transcript) applied() (applied, shown bool) {
	state, _ := tr.Response.data()["applied"].(bool)
	_, shown = tr.Response.data()["applied"]
	return state, shown
}

// data is the object in a recorded answer's envelope; nil if there is none.
func (a recordedResponse) data() map[string]any {
	var env struct{ Data any }
	_ = json.Unmarshal(a.Body, &env)
	object, _ := env.Data.(map[string]any)
	return object
}

func slowList(r *replay, steps []*transcript) {
	for _, tr := range steps {
		r.srv.Inject(sim.Fault{Kind: sim.Latency, At: sim.BeforeAnswer, Delay: 300 * time.Second})
		r.step(tr)
	}
}

func lockHeld(r *replay, steps []*transcript) {
	r.srv.Admin().HoldWriteLock(true)
	r.each(steps)
}

// lateWrite: the first request waits for the lock when its client gives up; the lock is freed before the step that
// shows what it wrote.
func lateWrite(r *replay, steps []*transcript) {
	r.srv.Admin().HoldWriteLock(true)
	var late *transcript
	for _, tr := range steps {
		switch {
		case tr.Response.Status == nil:
			r.check(tr, r.sendAndLeave(tr))
			late = tr
			continue
		case late != nil && tr.shows(late):
			late = nil
			r.srv.Admin().HoldWriteLock(false)
			r.settle()
		}
		r.step(tr)
	}
}

// shows says that the recorded answer has the values that another request sent.
func (tr *transcript) shows(wrote *transcript) bool {
	var sent map[string]any
	_ = json.Unmarshal(wrote.Request.Body, &sent)
	data := tr.Response.data()
	for k, v := range sent {
		if shown, has := data[k]; has && !reflect.DeepEqual(shown, v) {
			return false
		}
	}
	return data != nil
}

// sendAndLeave sends, waits until the request is in PHP and waits for something there, and closes the connection.
func (r *replay) sendAndLeave(tr *transcript) received {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan received, 1)
	go func() { done <- r.exchange(ctx, tr) }()
	for r.clock.Sleepers() < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	return <-done
}

// settle lets the appliance finish what it is doing.
func (r *replay) settle() {
	for i := 0; i < 500; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		err := r.srv.Wait(ctx)
		cancel()
		if err == nil {
			return
		}
		r.clock.Advance(time.Second)
	}
}

// writersFirst says how many steps from the first on are writes.
func writersFirst(steps []*transcript) int {
	n := slices.IndexFunc(steps, func(tr *transcript) bool { return tr.Request.Method == http.MethodGet })
	if n < 0 {
		return len(steps)
	}
	return n
}

// lostUpdate: the writes that come first have all read before one of them writes; they write in the order of the steps.
func lostUpdate(r *replay, steps []*transcript) {
	var gates []*sim.Gate
	var answers []chan received
	writers := steps[:writersFirst(steps)]
	for _, tr := range writers {
		g := sim.NewGate()
		r.srv.Inject(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: g, Method: tr.Request.Method})
		done := make(chan received, 1)
		go func() { done <- r.exchange(context.Background(), tr) }()
		<-g.Arrived()
		gates, answers = append(gates, g), append(answers, done)
	}
	for i, g := range gates {
		g.Open()
		r.check(writers[i], r.await(writers[i], answers[i]))
	}
	r.each(steps[len(writers):])
}

// readDuringWrite: the first write waits while the reads that stand before it are answered.
func readDuringWrite(r *replay, steps []*transcript) {
	writer := slices.IndexFunc(steps, func(tr *transcript) bool { return tr.Request.Method != http.MethodGet })
	if writer < 0 {
		r.problem(steps[0], "no write among the steps of %q", r.sc.StartsFrom)
		return
	}
	r.srv.Admin().HoldWriteLock(true)
	done := make(chan received, 1)
	go func() { done <- r.exchange(context.Background(), steps[writer]) }()
	for r.clock.Sleepers() < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	for _, tr := range steps[:writer] {
		r.check(tr, r.exchange(context.Background(), tr))
	}
	r.srv.Admin().HoldWriteLock(false)
	r.check(steps[writer], r.await(steps[writer], done))
	r.each(steps[writer+1:])
}

var notWaiting = regexp.MustCompile(`"async": ?true`)

// clientGaveUp: before the steps a client sent the POST that one of them repeats, waiting for the apply, and left.
func clientGaveUp(r *replay, steps []*transcript) {
	again := slices.IndexFunc(steps, func(tr *transcript) bool { return tr.Request.Method == http.MethodPost })
	if again < 0 {
		r.problem(steps[0], "no step repeats the request of %q", r.sc.StartsFrom)
		return
	}
	first := *steps[again]
	first.Request.Body = notWaiting.ReplaceAll(first.Request.Body, []byte(`"async":false`))
	r.setClock(steps[0])
	r.srv.Inject(sim.Fault{Kind: sim.Latency, At: sim.BeforeProcessing, Delay: time.Second, Method: http.MethodPost})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan received, 1)
	go func() { done <- r.exchange(ctx, &first) }()
	for r.clock.Sleepers() < 1 {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
	r.clock.Advance(time.Second)
	r.settle()
	r.each(steps)
}
