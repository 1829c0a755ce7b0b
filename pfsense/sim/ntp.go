package sim

import (
	"regexp"
	"strings"
)

var hexForm = regexp.MustCompile(`(?i)^[0-9a-f]+$`)

func ntpSettingsHooks() hooks {
	return hooks{validate: func(o *object) *apiError {
		if err := o.checkAuthKey(); err != nil {
			return err
		}
		lo, isLo := numeric(o.text("ntpminpoll"))
		hi, isHi := numeric(o.text("ntpmaxpoll"))
		if isLo && isHi && lo > hi {
			return fail("NTP_SERVER_NTPMINPOLL_GREATER_THAN_NTPMAXPOLL", "Field `ntpminpoll` cannot be greater than the `ntpmaxpoll` value.")
		}
		return nil
	}}
}

func (o *object) checkAuthKey() *apiError {
	key, ok := o.vals["serverauthkey"].(string)
	if !ok {
		return nil
	}
	switch algo := o.text("serverauthalgo"); algo {
	case "md5":
		if len(key) > 20 {
			return fail("NTP_SERVER_SERVERAUTHKEY_EXCEEDS_MAXIMUM_LENGTH_FOR_MD5",
				"Field `serverauthkey` cannot contain more than 20 characters when `serverauthalgo` is `md5`.")
		}
	case "sha1", "sha256":
		want := map[string]int{"sha1": 40, "sha256": 64}[algo]
		if len(key) != want {
			return fail("NTP_SERVER_SERVERAUTHKEY_"+strings.ToUpper(algo)+"_CHARACTER_REQUIREMENT_UNMET",
				"Field `serverauthkey` must be exactly 40 characters when `serverauthalgo` is set to `sha1`.")
		}
		if !hexForm.MatchString(key) {
			return fail("NTP_SERVER_SERVERAUTHKEY_MUST_BE_HEX_VALUE_"+strings.ToUpper(algo),
				"Field `serverauthkey` must be a hex-encoded value when `serverauthalgo` is set to `%s`.", algo)
		}
	}
	return nil
}

// timeServerHooks: time servers have no list of their own. Their names are words in system/timeservers, and what they
// are is told by words in ntpd/ispool, ispeer, prefer and noselect.
func timeServerHooks() hooks {
	return hooks{
		rows: timeServerRows,
		validate: func(o *object) *apiError {
			if strings.HasSuffix(o.text("timeserver"), "pool.ntp.org") {
				o.vals["type"] = "pool"
			}
			return nil
		},
		create: func(o *object) *apiError {
			o.addTimeServer()
			return o.s.write(o.m, "Added "+o.m.verbose+" via API")
		},
		update: func(o *object) *apiError {
			o.dropTimeServer()
			o.addTimeServer()
			return o.s.write(o.m, "Updated "+o.m.verbose+" via API")
		},
		remove: func(o *object) *apiError {
			o.dropTimeServer()
			return o.s.write(o.m, "Deleted "+o.m.verbose+" via API")
		},
	}
}

func (s *session) words(path string) []string {
	v, _ := getPath(s.cfg, path)
	text, _ := v.(string)
	return strings.Split(text, " ")
}

func hasWord(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

func timeServerRows(o *object) []any {
	var out []any
	for _, name := range o.s.words("system/timeservers") {
		typ := "server"
		if hasWord(o.s.words("ntpd/ispool"), name) {
			typ = "pool"
		} else if hasWord(o.s.words("ntpd/ispeer"), name) {
			typ = "peer"
		}
		d := newDict("timeserver", name, "type", typ, "prefer", flagText(hasWord(o.s.words("ntpd/prefer"), name)))
		if typ != "pool" {
			d.set("noselect", flagText(hasWord(o.s.words("ntpd/noselect"), name)))
		}
		out = append(out, d)
	}
	return out
}

func flagText(on bool) string {
	if on {
		return "true"
	}
	return "false"
}

// addTimeServer appends the name and its marks. A name that is already there is not added again, and the id in the
// answer is invented.
func (o *object) addTimeServer() {
	name := o.text("timeserver")
	n := 0
	for _, w := range o.s.words("system/timeservers") {
		if w != "" {
			n++
		}
	}
	o.id = int64(n)
	o.addWord("system/timeservers", name, true)
	o.addWord("ntpd/ispool", name, o.vals["type"] == "pool")
	o.addWord("ntpd/ispeer", name, o.vals["type"] == "peer")
	o.addWord("ntpd/prefer", name, o.vals["prefer"] == true)
	o.addWord("ntpd/noselect", name, o.vals["noselect"] == true)
}

func (o *object) addWord(path, name string, wanted bool) {
	words := o.s.words(path)
	if wanted && !hasWord(words, name) {
		setPath(o.s.cfg, path, strings.Join(append(words, name), " "))
	}
}

// dropTimeServer removes the name as it now is. After a renaming it is not found, and the first one goes instead.
func (o *object) dropTimeServer() {
	for _, path := range []string{"system/timeservers", "ntpd/ispool", "ntpd/ispeer", "ntpd/prefer", "ntpd/noselect"} {
		words := o.s.words(path)
		at := 0
		for i, w := range words {
			if w == o.text("timeserver") {
				at = i
				break
			}
		}
		setPath(o.s.cfg, path, strings.Join(append(append([]string{}, words[:at]...), words[at+1:]...), " "))
	}
}
