// Package keys keeps and uses the secrets of a store (design section 7).
//
// Where secrets live:
//
//	keyring.go      the Keyring port and the classes of its answers
//	osring.go       the operating system's keyring, every call with a deadline
//	osclassify.go   what its errors mean
//	filering.go     owner-only files, chosen explicitly, never a fallback
//	ringfiles.go    how those files are read and written
//	folder.go       a directory that is ours alone, and its files
//	passphrase.go   a secret wrapped under a passphrase
//	credential.go   a systemd credential in place of a typed passphrase
//	open.go         the keyring that a configuration names
//	secret.go       bytes that no way of printing shows
//
// What is kept there:
//
//	storekeys.go    the integrity key, the artifact key and the API keys
//	provision.go    everything that a new store's keyring needs
//	operators.go    each operator's confirmation key, wrapped under a passphrase
//	enrol.go        who becomes an operator, and who vouches
//	attempts.go     failed passphrases, counted and delayed
//	storedattempts.go  the same, kept by a store
//	anchor.go       the anti-rollback counter
//
// What is done with them:
//
//	artifacts.go    sealing target, intent and snapshot of a contract
//	authority.go    signing and verifying while an operator's key is unlocked
//	ed25519.go      verifying off-host signatures with pinned keys
//	signingkey.go   making them, on another machine
//
// What travels between the two machines:
//
//	files.go        one spelling, schema and version; private, whole files
//	requestfile.go  what somebody is asked to sign, in plain text
//	render.go       the same for people, and visible.go for hostile texts
//	sign.go         signing exactly what was shown
//	evidencefile.go what was signed, value-free
//	inbox.go        the fixed folder in which it arrives
//
// Three rules hold throughout. Only ErrNotFound may ever mean "no key yet",
// and only the deliberate Init creates keys. A keyring item alone confirms
// nothing: an operator's key is wrapped under a passphrase, and the store pins
// a commitment to it. No error, String or %v of this package shows a secret.
package keys
