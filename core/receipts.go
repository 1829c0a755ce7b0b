package core

// ReceiptClaim is the request key of a prepare request and the trusted
// version of the contract it was made under (seed 001; design section 5).
type ReceiptClaim struct {
	Caller     string // the authenticated operator
	Family     string // the stable operation family
	RequestKey string
	Version    int    // request-contract version
	Request    Object // the request, parsed under that version
}

// NewReceiptClaim claims a draft's request key for its caller.
func NewReceiptClaim(caller string, d Draft) ReceiptClaim {
	return ReceiptClaim{Caller: caller, Family: "prepare", RequestKey: d.RequestKey, Version: 1, Request: d.Request.Fields}
}
