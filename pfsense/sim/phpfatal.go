package sim

import "fmt"

// codeLines are the line numbers that appear in the stack traces of unexpected errors, by version. Those of DELETE were
// never observed and are guesses.
var codeLines = map[string]map[string]int{
	Profile271: {
		"check": 1063, "acl": 634, "aclcall": 1052, "exists": 991, "represent": 1125,
		"GET": 1145, "PATCH": 1184, "DELETE": 1200, "callGET": 1072, "callPATCH": 1081, "callDELETE": 1084,
		"internal": 950, "readall": 1975, "query": 2050, "list": 1133,
	},
	Profile2100: {
		"check": 1142, "acl": 670, "aclcall": 1131, "exists": 1053, "represent": 1187,
		"GET": 1225, "PATCH": 1264, "DELETE": 1280, "callGET": 1152, "callPATCH": 1161, "callDELETE": 1164,
		"internal": 985, "readall": 2071, "query": 2162, "list": 1213,
	},
}

func (p *profile) line(name string) int {
	if lines, ok := codeLines[p.name]; ok {
		return lines[name]
	}
	return codeLines[Profile271][name]
}

const pkgDir = "/usr/local/pkg/RESTAPI/"

func unexpected(text string) *apiError { return fail("ENDPOINT_RECEIVED_UNEXPECTED_ERROR", "%s", text) }

func (p *profile) entry(e *endpoint, n int) string {
	return fmt.Sprintf("#%d /usr/local/www%s/index.php(9): RESTAPI\\Core\\Endpoint->process_request()\n#%d {main}", n, e.url, n+1)
}

// scalarBody is what PHP says about a body that is neither object nor array.
func (p *profile) scalarBody(e *endpoint, typ string) *apiError {
	return unexpected(fmt.Sprintf("Cannot assign %s to property RESTAPI\\Core\\Endpoint::$request_data of type array\n"+
		"#0 %sCore/Endpoint.inc(%d): RESTAPI\\Core\\Endpoint->check_request_data()\n%s",
		typ, pkgDir, p.line("check"), p.entry(e, 1)))
}

// arrayID is what PHP says about an id that is an array.
func (p *profile) arrayID(e *endpoint, method string) *apiError {
	return unexpected(fmt.Sprintf("array_key_exists(): Argument #1 ($key) must be a valid array offset type\n"+
		"#0 %[1]sCore/Model.inc(%[2]d): array_key_exists()\n"+
		"#1 %[1]sCore/Model.inc(%[3]d): RESTAPI\\Core\\Model->from_internal()\n"+
		"#2 %[1]sCore/Endpoint.inc(%[4]d): RESTAPI\\Core\\Model->from_representation()\n"+
		"#3 %[1]sCore/Endpoint.inc(%[5]d): RESTAPI\\Core\\Endpoint->%[6]s()\n%[7]s",
		pkgDir, p.line("exists"), p.line("represent"), p.line(method), p.line("call"+method), lower(method), p.entry(e, 4)))
}

// optionsACL is the defect that answers every OPTIONS request.
func (p *profile) optionsACL(e *endpoint) *apiError {
	return unexpected(fmt.Sprintf("RESTAPI\\Models\\RESTAPIAccessListEntry::is_allowed_by_acl(): Argument #2 ($username) "+
		"must be of type string, null given, called in %[1]sCore/Endpoint.inc on line %[2]d\n"+
		"#0 %[1]sCore/Endpoint.inc(%[2]d): RESTAPI\\Models\\RESTAPIAccessListEntry::is_allowed_by_acl()\n"+
		"#1 %[1]sCore/Endpoint.inc(%[3]d): RESTAPI\\Core\\Endpoint->check_acl()\n%[4]s",
		pkgDir, p.line("acl"), p.line("aclcall"), p.entry(e, 2)))
}

// noHistory is the defect that answers while no earlier configuration has been kept.
func (p *profile) noHistory(e *endpoint) *apiError {
	return unexpected(fmt.Sprintf("RESTAPI\\Models\\ConfigHistoryRevision::get_config_history(): Return value must be of type array, bool returned\n"+
		"#0 %[1]sCore/Model.inc(%[2]d): RESTAPI\\Models\\ConfigHistoryRevision->get_config_history()\n"+
		"#1 %[1]sCore/Model.inc(%[3]d): RESTAPI\\Core\\Model->get_internal_objects()\n"+
		"#2 %[1]sCore/Model.inc(%[4]d): RESTAPI\\Core\\Model::read_all()\n"+
		"#3 %[1]sCore/Endpoint.inc(%[5]d): RESTAPI\\Core\\Model::query()\n"+
		"#4 %[1]sCore/Endpoint.inc(%[6]d): RESTAPI\\Core\\Endpoint->get()\n%[7]s",
		pkgDir, p.line("internal"), p.line("readall"), p.line("query"), p.line("list"), p.line("callGET"), p.entry(e, 5)))
}
