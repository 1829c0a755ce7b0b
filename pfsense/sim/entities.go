package sim

import (
	"html"
	"strings"
	"sync"
)

// entityNames are the HTML 4.01 entities, which PHP's htmlentities writes.
const entityNames = `quot amp lt gt nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg
plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde
Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml
times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute
ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml
yacute thorn yuml OElig oelig Scaron scaron Yuml fnof circ tilde Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa
Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau Upsilon Phi Chi Psi Omega alpha beta gamma delta epsilon zeta eta theta iota
kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega thetasym upsih piv ensp emsp thinsp zwnj
zwj lrm rlm ndash mdash lsquo rsquo sbquo ldquo rdquo bdquo dagger Dagger bull hellip permil prime Prime lsaquo rsaquo
oline frasl euro image weierp real trade alefsym larr uarr rarr darr harr crarr lArr uArr rArr dArr hArr forall part
exist empty nabla isin notin ni prod sum minus lowast radic prop infin ang and or cap cup int there4 sim cong asymp ne
equiv le ge sub sup nsub sube supe oplus otimes perp sdot lceil rceil lfloor rfloor loz spades clubs hearts diams`

// entityWriter is built once from the names.
var entityWriter = sync.OnceValue(func() *strings.Replacer {
	pairs := []string{"'", "&#039;"}
	for _, n := range strings.Fields(entityNames) {
		e := "&" + n + ";"
		pairs = append(pairs, html.UnescapeString(e), e)
	}
	return strings.NewReplacer(pairs...)
})

// htmlEntities encodes text as PHP's htmlentities does before pfSense stores it.
func htmlEntities(s string) string { return entityWriter().Replace(s) }
