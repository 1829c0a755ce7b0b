package sim

import (
	"fmt"
	"net/http"
)

// The pages that do not come from the API: the web server's own, pfSense's error pages, a proxy's, PHP's.

func htmlAnswer(code int, body string) answer {
	return answer{status: code, header: http.Header{"Content-Type": {"text/html"}}, body: []byte(body)}
}

// stockPage is a page of the web server itself.
func stockPage(code int) answer {
	title := map[int]string{301: "301 Moved Permanently", 302: "302 Found", 307: "307 Temporary Redirect", 308: "308 Permanent Redirect",
		400: "400 Request Header Or Cookie Too Large", 404: "404 Not Found", 405: "405 Not Allowed", 413: "413 Request Entity Too Large",
		414: "414 Request-URI Too Large"}[code]
	heading := title
	if code == 400 {
		heading = "400 Bad Request</h1></center>\r\n<center>Request Header Or Cookie Too Large"
		return htmlAnswer(code, stockHTML(title, heading+"</center>"))
	}
	return htmlAnswer(code, stockHTML(title, heading+"</h1></center>"))
}

func stockHTML(title, heading string) string {
	return fmt.Sprintf("<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s\r\n"+
		"<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n", title, heading)
}

// plainHTTPPage is what the TLS port says to plain HTTP.
const plainHTTPPage = "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body>\r\n" +
	"<center><h1>400 Bad Request</h1></center>\r\n<center>The plain HTTP request was sent to HTTPS port</center>\r\n" +
	"<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"

// errorPage is pfSense's own page for 404 and 50x.
func errorPage(code int) answer {
	name := "page50x.html"
	if code == http.StatusNotFound {
		name = "page404.html"
	}
	text, _ := readData(name)
	a := htmlAnswer(code, string(text))
	a.header.Set("ETag", fmt.Sprintf(`"%x-%x"`, 0x65f00000, len(text)))
	return a
}

// notFound is the page for a path that is not an endpoint.
func (p *profile) notFound() answer {
	if p.stockErrorPages {
		return stockPage(http.StatusNotFound)
	}
	return errorPage(http.StatusNotFound)
}

func proxyPage(code int) answer {
	text := http.StatusText(code)
	return htmlAnswer(code, fmt.Sprintf("<!DOCTYPE html><html><head><title>%d %s</title></head><body><h1>%s</h1>"+
		"<p>The proxy at gateway.example.net refused this request.</p></body></html>\n", code, text, text))
}

func loginPage() answer {
	return htmlAnswer(http.StatusOK, "<!DOCTYPE html><html><head><title>pfSense - Login</title></head><body><form method=\"post\">"+
		"<input name=\"usernamefld\"><input name=\"passwordfld\" type=\"password\"></form></body></html>\n")
}

func fatalPage() answer {
	return htmlAnswer(http.StatusInternalServerError, "PHP Fatal error:  Uncaught Error: Failed opening required 'RESTAPI/autoloader.inc' "+
		"in /usr/local/www/api/v2/firewall/alias/index.php:3\nStack trace:\n#0 {main}\n  thrown in /usr/local/www/api/v2/firewall/alias/index.php on line 3\n")
}
