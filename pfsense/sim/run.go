package sim

import (
	"context"
	"fmt"
	"io"
)

// RunOptions is what a command line says about a stand-alone appliance.
type RunOptions struct {
	Options
	Faults []string // armed at start, in the form that ParseFault reads
}

// Run serves an appliance until the context is done, and says on out how to reach it: address, key, fingerprint of the
// certificate, and the certificate itself. It returns an error only if the appliance cannot be started.
func Run(ctx context.Context, out io.Writer, opts RunOptions) error {
	faults := make([]Fault, 0, len(opts.Faults))
	for _, text := range opts.Faults {
		f, err := ParseFault(text)
		if err != nil {
			return err
		}
		faults = append(faults, f)
	}
	srv, err := New(opts.Options)
	if err != nil {
		return err
	}
	defer srv.Close()
	for _, f := range faults {
		srv.Inject(f)
	}
	if err := srv.announce(out, opts.Faults); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// announce prints what a client needs.
func (srv *Server) announce(out io.Writer, faults []string) error {
	_, err := fmt.Fprintf(out, "pfSense simulator, REST API %s\naddress      %s\nuser         %s\nAPI key      %s\nSPKI SHA-256 %s\n",
		srv.Profile(), srv.URL(), srv.user, srv.APIKey(), srv.Fingerprint())
	if err != nil {
		return err
	}
	for _, f := range faults {
		if _, err := fmt.Fprintf(out, "fault        %s\n", f); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s", srv.CertificatePEM())
	return err
}
