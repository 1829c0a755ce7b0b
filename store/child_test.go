package store

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// childVariable makes this test binary a process of its own that plays one
// part: a JSON list of the part's name and its arguments.
const childVariable = "COUNTERSIGN_TEST_CHILD"

func TestMain(m *testing.M) {
	var call []string
	if text := os.Getenv(childVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &call); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		os.Exit(playChild(call[0], call[1:]))
	}
	os.Exit(m.Run())
}

func playChild(part string, args []string) int {
	switch part {
	case "receipt":
		return playReceiptChild(args)
	case "backup":
		return playBackupChild(args)
	case "crash":
		return playCrashChild(args)
	case "open":
		return playOpenChild(args)
	case "lock":
		return playLockChild(args)
	case "flight":
		return playFlightChild(args)
	case "race":
		return playRaceChild(args)
	}
	fmt.Println("no such part:", part)
	return 2
}

// child is a process that plays a part.
func child(part string, args ...string) *exec.Cmd {
	text, err := json.Marshal(append([]string{part}, args...))
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	return cmd
}
