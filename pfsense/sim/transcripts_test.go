package sim_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/pfsense/sim"
)

// transcript is one recorded exchange with the real package: one a file. Its names (of file, scenario and step) only
// tell people what it is about; how it is played follows from what it says.
type transcript struct {
	file         string // without .json
	StartsFrom   string `json:"starts_from"`
	Request      recordedRequest
	Response     recordedResponse
	Volatile     []string `json:"volatile"`
	ConfigAfter  string   `json:"config_after"`
	Elapsed      float64  `json:"elapsed_s"`
	Provenance   string   `json:"provenance"`
	AlsoObserved []string `json:"also_observed_with"`
	Note         string   `json:"note"`
}

type recordedRequest struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`
	BodyRaw  *string           `json:"body_raw"`
	BodyB64  string            `json:"body_base64"`
	BodyNote string            `json:"body_note"`
}

type recordedResponse struct {
	Status  *int              `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	BodyRaw *string           `json:"body_raw"`
}

type transcriptIndex struct {
	Scenarios map[string]scenario `json:"scenarios"`
}

type scenario struct {
	StartsFrom string `json:"starts_from"`
	Steps      []step `json:"steps"`
}

// step names the files of one request: one, or the main one and then those in which other versions answered otherwise.
type step []string

func (s *step) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*s = step{""}
		return json.Unmarshal(text, &(*s)[0])
	}
	return json.Unmarshal(text, (*[]string)(s))
}

func transcriptDir() string {
	if d := os.Getenv("COUNTERSIGN_TRANSCRIPTS"); d != "" {
		return d
	}
	return filepath.Join("..", "..", "testdata", "pfrest", "transcripts")
}

// depth says how much of a recording holds for a version.
type depth int

const (
	unseen     depth = iota // not observed with this version
	statusOnly              // only status and response_id are known
	full                    // everything
)

// versionPaths answer with the version itself, so a recording shows only one version's content.
var versionPaths = map[string]bool{"/api/v2/system/version": true, "/api/v2/system/restapi/version": true}

// holds says how far the recording holds for a version. withDSCP: there with a further field.
func (tr *transcript) holds(version string) (d depth, withDSCP bool) {
	if tr.observedWith(version) || strings.HasPrefix(tr.Provenance, "derived") && version == sim.Profile271 {
		return full, false
	}
	for _, also := range tr.AlsoObserved {
		name, note, _ := strings.Cut(also, " ")
		switch {
		case name != version:
		case strings.Contains(note, "further field dscp"):
			return full, true
		case note != "", versionPaths[tr.Request.Path]:
			return statusOnly, false
		default:
			return full, false
		}
	}
	return unseen, false
}

func (tr *transcript) observedWith(version string) bool {
	return strings.Contains(tr.Provenance, "pfrest "+version+" ")
}

// TestTranscripts replays the recorded exchanges of the real package scenario by scenario and compares.
func TestTranscripts(t *testing.T) {
	dir := transcriptDir()
	var index transcriptIndex
	readJSONFile(t, filepath.Join(dir, "index.json"), &index)
	excused := readExcuses(t)
	outcome, compared := replayAll(t, dir, index)
	for _, problem := range missed(t, dir, index, outcome, excused) {
		t.Error(problem)
	}
	agreed, listed := 0, 0
	for _, name := range slices.Sorted(maps.Keys(outcome)) {
		reason, isListed := excused[name]
		if len(outcome[name]) == 0 {
			agreed++
		} else if isListed {
			listed++
		}
		t.Run(name, func(t *testing.T) {
			problems := outcome[name]
			switch {
			case len(problems) == 0 && isListed:
				t.Errorf("agrees now: take it off testdata/disagreements.json (%s)", reason)
			case len(problems) > 0 && !isListed:
				t.Error(strings.Join(problems, "\n"))
			case len(problems) > 0:
				t.Logf("out of scope: %s", reason)
			}
		})
	}
	t.Logf("transcripts: %d files replayed (%d exchanges compared over %d version profiles), %d agree, %d out of scope",
		len(outcome), compared, len(sim.Profiles()), agreed, listed)
	if listed*10 > len(outcome) {
		t.Errorf("%d of %d files are out of scope; at most a tenth may be", listed, len(outcome))
	}
}

// replayAll plays every scenario against every version. The outcome has the disagreements of each file that was compared.
func replayAll(t *testing.T, dir string, index transcriptIndex) (outcome map[string][]string, compared int) {
	outcome = map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(index.Scenarios)) {
		for _, version := range sim.Profiles() {
			r := &replay{t: t, dir: dir, version: version, sc: index.Scenarios[key], outcome: outcome}
			r.run()
			compared += r.compared
		}
	}
	return outcome, compared
}

// missed says what a replay has silently left out: files that no scenario has, and files of a scenario that were
// compared with no version and are not excused.
func missed(t *testing.T, dir string, index transcriptIndex, outcome map[string][]string, excused map[string]string) []string {
	var problems []string
	if len(outcome) == 0 {
		problems = append(problems, fmt.Sprintf("no transcript of %s was replayed; its index.json names %d scenarios", dir, len(index.Scenarios)))
	}
	indexed := map[string]bool{"index": true}
	for _, key := range slices.Sorted(maps.Keys(index.Scenarios)) {
		for _, file := range slices.Concat(index.Scenarios[key].Steps...) {
			name := strings.TrimSuffix(file, ".json")
			indexed[name] = true
			if _, played := outcome[name]; !played && excused[name] == "" {
				problems = append(problems, fmt.Sprintf("%s was not replayed: none of the profiles %s is the version that it was observed with",
					file, strings.Join(sim.Profiles(), ", ")))
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if base := filepath.Base(file); !indexed[strings.TrimSuffix(base, ".json")] {
			problems = append(problems, base+" is not in index.json: no scenario replays it")
		}
	}
	return problems
}

func readExcuses(t *testing.T) map[string]string {
	out := map[string]string{}
	readJSONFile(t, filepath.Join("testdata", "disagreements.json"), &out)
	return out
}

func readJSONFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// replay runs one scenario against one version.
type replay struct {
	t        *testing.T
	dir      string
	version  string
	sc       scenario
	outcome  map[string][]string
	compared int

	srv    *sim.Server
	clock  *sim.ManualClock
	client *http.Client
	pool   *x509.CertPool
}

func (r *replay) run() {
	steps := r.steps()
	if !slices.ContainsFunc(steps, func(tr *transcript) bool { d, _ := tr.holds(r.version); return d != unseen }) {
		return
	}
	cfg, known := startConfig(r.sc.StartsFrom)
	if !known {
		for _, tr := range steps {
			r.problem(tr, "the start %q is not known to this test", r.sc.StartsFrom)
		}
		return
	}
	r.clock = sim.NewManualClock(time.Unix(1796049600, 0))
	srv, err := sim.New(sim.Options{Profile: r.version, Config: cfg, Clock: r.clock, PlainHTTP: true})
	if err != nil {
		r.t.Fatal(err)
	}
	defer srv.Close()
	r.srv = srv
	r.pool = x509.NewCertPool()
	r.pool.AppendCertsFromPEM(srv.CertificatePEM())
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: r.pool}, DisableCompression: true}
	defer tr.CloseIdleConnections()
	r.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.howToPlay(steps)(r, steps)
}

// steps picks, for each step, the recording that this version has, or the main one.
func (r *replay) steps() []*transcript {
	var out []*transcript
	for _, files := range r.sc.Steps {
		var pick *transcript
		for _, file := range files {
			tr := &transcript{file: strings.TrimSuffix(file, ".json")}
			readJSONFile(r.t, filepath.Join(r.dir, file), tr)
			if pick == nil || tr.observedWith(r.version) {
				pick = tr
			}
		}
		if pick != nil {
			out = append(out, pick)
		}
	}
	return out
}

func (r *replay) each(steps []*transcript) {
	for _, tr := range steps {
		r.step(tr)
	}
}

func (r *replay) step(tr *transcript) {
	set, known := condition(tr.StartsFrom)
	switch {
	case known:
		r.srv.Admin().SetConditions(set)
	case tr.StartsFrom != r.sc.StartsFrom:
		r.problem(tr, "the start %q of this step is not known to this test", tr.StartsFrom)
	}
	r.setClock(tr)
	r.check(tr, r.send(tr))
}

func (r *replay) problem(tr *transcript, format string, args ...any) {
	r.outcome[tr.file] = append(r.outcome[tr.file], r.version+": "+fmt.Sprintf(format, args...))
}

// setClock moves the appliance to the second in which the exchange was recorded, as far as the recording shows it.
func (r *replay) setClock(tr *transcript) {
	var latest int64
	if m := timeSent.FindStringSubmatch(string(tr.Request.Body)); m != nil && tr.Response.Status != nil && *tr.Response.Status == http.StatusOK {
		sent, _ := strconv.ParseInt(m[1], 10, 64)
		r.clock.Advance(time.Unix(sent, 0).Sub(r.clock.Now()))
		return
	}
	for _, m := range timeShown.FindAllStringSubmatch(string(tr.Response.Body), -1) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		latest = max(latest, n)
	}
	if latest > 0 {
		r.clock.Advance(time.Unix(latest, 0).Sub(r.clock.Now()))
	}
}

var timeShown = regexp.MustCompile("(?:\"(?:tracker|created_time|updated_time|time)\": ?|current value `)(179[0-9]{7})\\b")

var timeSent = regexp.MustCompile(`"created_time": ?(179[0-9]{7})\b`)
