package keys

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/godbus/dbus/v5"
	gokeyring "github.com/zalando/go-keyring"
)

// classify sorts an error of go-keyring or of the Secret Service. What is not
// recognised is ErrNoService, never ErrNotFound.
func classify(err error) error {
	var bus dbus.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gokeyring.ErrNotFound):
		return ErrNotFound
	case errors.Is(err, gokeyring.ErrSetDataTooBig):
		return ErrTooLarge
	case errors.As(err, &bus):
		return classifyBusName(bus.Name)
	case strings.Contains(err.Error(), "failed to unlock") && strings.Contains(err.Error(), "/aliases/default"):
		// The same words for a dismissed prompt and for a collection that is not there.
		return refused(ErrLocked, "or it was never used and has no default collection")
	case strings.Contains(err.Error(), "failed to unlock"):
		return ErrLocked
	case strings.Contains(err.Error(), "permission denied"):
		return ErrDenied
	case runtime.GOOS == "darwin":
		return classifyExit(err.Error())
	}
	return ErrNoService
}

// classifyBusName goes by the D-Bus error's name, which is defined by the
// Secret Service specification; its text is free.
func classifyBusName(name string) error {
	switch name {
	case "org.freedesktop.Secret.Error.IsLocked":
		return ErrLocked
	case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
		"org.freedesktop.DBus.Error.TimedOut":
		return ErrTimeout
	case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed":
		return ErrDenied
	case "org.freedesktop.DBus.Error.LimitsExceeded":
		return ErrTooLarge
	}
	return ErrNoService
}

// classifyExit reads the exit status of macOS's security tool: the low byte of
// errSecInteractionNotAllowed (-25308), errSecAuthFailed (-25293) and
// errSecUserCanceled (-128).
func classifyExit(text string) error {
	switch text {
	case "exit status 36":
		return ErrLocked
	case "exit status 51", "exit status 128":
		return ErrDenied
	}
	return ErrNoService
}

// sessionBusKnown reports whether the Secret Service's bus exists already.
// Without one the D-Bus library would launch a bus of its own, with an empty
// keyring on it that looks like "no key yet".
func sessionBusKnown() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return true
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/%s", os.Getuid(), name)); err == nil {
			return true
		}
	}
	return false
}
