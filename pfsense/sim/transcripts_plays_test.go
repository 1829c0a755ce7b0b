package sim_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
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
	"the endpoint file is missing (package being updated)":                                                                                func(c *sim.Conditions) { c.PackageUpdating = true },
	"PHP-FPM is not running (being restarted, or crashed)":                                                                                func(c *sim.Conditions) { c.PHPDown = true },
	"PHP-FPM has been started again":                                                                                                      func(c *sim.Conditions) { c.PHPDown = false },
	"package installed, but the web GUI has not been reloaded since (no /api/v2/ location in nginx yet)":                                  func(c *sim.Conditions) { c.NotReloaded = true },
	"pfctl rejects the generated ruleset (syntax error)":                                                                                  func(c *sim.Conditions) { c.RulesDoNotLoad = true },
	"no process can be started (out of processes or memory), or the job ended before its process id could be checked":                     func(c *sim.Conditions) { c.SpawnFails = true },
	"request sent to the plain-HTTP listener of a GUI that is set to HTTPS (pfSense default)":                                             func(*sim.Conditions) {},
	"several hundred port forwards, release 2.5 to 2.6.0":                                                                                 func(*sim.Conditions) {},
	"the package's write lock file exists and is not released (for example left by a killed PHP process)":                                 func(*sim.Conditions) {},
	"another writer holds the write lock; the client gives up after 2 s":                                                                  func(*sim.Conditions) {},
	"a write is waiting for the configuration lock":                                                                                       func(*sim.Conditions) {},
	"two PATCH requests to different aliases in flight at the same time (both had read the configuration before either wrote)":            func(*sim.Conditions) {},
	"the client sent POST /firewall/rule (descr \"retry me\", apply, async false) and closed the connection after 1 s, before the answer": func(*sim.Conditions) {},
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
	if _, isCondition := condition(start); start != "seed" && !isEdit && !isCondition {
		return nil, false
	}
	out := string(text)
	for i := 0; i+1 < len(pairs); i += 2 {
		out = strings.Replace(out, pairs[i], pairs[i+1], 1)
	}
	return []byte(out), true
}

// plays are the scenarios in which more happens than one request after the other.
var plays = map[string]func(*replay, []*transcript){
	"apply.queue_full":              func(r *replay, steps []*transcript) { r.still(steps, "") },
	"apply.slow_reload":             func(r *replay, steps []*transcript) { r.still(steps, "status_done") },
	"apply.list_takes_minutes":      slowList,
	"concurrency.write_lock_held":   lockHeld,
	"concurrency.late_write":        lateWrite,
	"concurrency.lost_update":       lostUpdate,
	"concurrency.read_during_write": readDuringWrite,
	"concurrency.client_gave_up":    clientGaveUp,
}

// still replays with the clock standing, so that reloads stay under way until the named step.
func (r *replay) still(steps []*transcript, moveBefore string) {
	if set, ok := condition(r.sc.StartsFrom); ok {
		r.srv.Admin().SetConditions(set)
	}
	for _, tr := range steps {
		if tr.Does == moveBefore {
			r.clock.Advance(time.Minute)
			time.Sleep(50 * time.Millisecond)
		}
		r.check(tr, r.exchange(context.Background(), tr))
	}
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

// lateWrite: the first request waits for the lock when its client gives up; later the lock is freed.
func lateWrite(r *replay, steps []*transcript) {
	r.srv.Admin().HoldWriteLock(true)
	for _, tr := range steps {
		switch {
		case tr.Response.Status == nil:
			r.check(tr, r.sendAndLeave(tr))
			continue
		case strings.Contains(tr.Does, "again"):
			r.srv.Admin().HoldWriteLock(false)
			r.settle()
		}
		r.step(tr)
	}
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

// lostUpdate: both requests have read before either writes; they write in the order of the steps.
func lostUpdate(r *replay, steps []*transcript) {
	gates := []*sim.Gate{sim.NewGate(), sim.NewGate()}
	answers := []chan received{}
	for i, g := range gates {
		r.srv.Inject(sim.Fault{Kind: sim.Block, At: sim.BeforeWrite, Gate: g, Method: "PATCH"})
		done := make(chan received, 1)
		go func() { done <- r.exchange(context.Background(), steps[i]) }()
		<-g.Arrived()
		answers = append(answers, done)
	}
	for i, g := range gates {
		g.Open()
		r.check(steps[i], r.await(answers[i]))
	}
	r.each(steps[len(gates):])
}

func readDuringWrite(r *replay, steps []*transcript) {
	r.srv.Admin().HoldWriteLock(true)
	done := make(chan received, 1)
	go func() { done <- r.exchange(context.Background(), steps[1]) }()
	for r.clock.Sleepers() < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	r.check(steps[0], r.exchange(context.Background(), steps[0]))
	r.srv.Admin().HoldWriteLock(false)
	r.check(steps[1], r.await(done))
	r.each(steps[2:])
}

func clientGaveUp(r *replay, steps []*transcript) {
	r.setClock(steps[0])
	post := &transcript{Name: "setup", Request: recordedRequest{Method: "POST", Path: "/api/v2/firewall/rule",
		Headers: map[string]string{"X-API-Key": r.srv.APIKey(), "Content-Type": "application/json"},
		Body:    []byte(`{"type":"pass","interface":["lan"],"ipprotocol":"inet","source":"any","destination":"any","descr":"retry me","apply":true,"async":false}`)}}
	r.srv.Inject(sim.Fault{Kind: sim.Latency, At: sim.BeforeProcessing, Delay: time.Second, Method: "POST"})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan received, 1)
	go func() { done <- r.exchange(ctx, post) }()
	for r.clock.Sleepers() < 1 {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
	r.clock.Advance(time.Second)
	r.settle()
	r.each(steps)
}
