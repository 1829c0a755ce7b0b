package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"countersign/core"
)

// One sentinel per class of failure of the store itself. Errors about a
// contract use core's classes.
var (
	// ErrRefused: this file is not a store that may be used; see Refusal.
	ErrRefused = errors.New("the store is refused")
	// ErrPath: the path, its directory or an owner or mode is not acceptable.
	ErrPath = errors.New("the store's path is not acceptable")
	// ErrMissing: there is no store at this path; opening never creates one.
	ErrMissing = errors.New("there is no store at this path")
	// ErrEmpty: the file has no table yet. Opening may make it a store;
	// nothing that only reads does, and there is nothing to verify.
	ErrEmpty = errors.New("the file is empty and not a store yet")
	// ErrExists: something is already at the path where a store was to be made.
	ErrExists = errors.New("there is already a file at this path")
	// ErrOptions: a key that is too short, or another unusable option.
	ErrOptions = errors.New("the store's options are not usable")
	// ErrLocked: another program holds the database locked.
	ErrLocked = errors.New("the database is locked by another program")
	// ErrFull: no space is left; nothing was changed.
	ErrFull = errors.New("no space is left for the store")
	// ErrReadOnly: the file or its directory cannot be written.
	ErrReadOnly = errors.New("the store cannot be written")
	// ErrDamaged: the database file is damaged.
	ErrDamaged = errors.New("the database file is damaged")
	// ErrClock: the clock is behind what the store already recorded.
	ErrClock = errors.New("the clock is behind the last recorded event")
	// ErrIO: reading or writing the file failed otherwise.
	ErrIO = errors.New("the store could not be read or written")
)

// Reason is the class of a flaw, named as in the conformance manifest.
type Reason string

// Reasons that quarantine one record.
const (
	ReasonRecordMAC       Reason = "record_mac"
	ReasonRecordInvalid   Reason = "record_invalid"
	ReasonRecordFields    Reason = "record_fields"
	ReasonPayloadType     Reason = "payload_type"
	ReasonIndexMismatch   Reason = "index_mismatch"
	ReasonReservation     Reason = "reservation"
	ReasonAuditIncomplete Reason = "audit_incomplete"
	ReasonAuditOrdering   Reason = "audit_ordering"
	ReasonAuditOrigin     Reason = "audit_origin"
	ReasonAuditChain      Reason = "audit_chain"
	ReasonAuditTimestamp  Reason = "audit_timestamp"
	ReasonAuditMAC        Reason = "audit_mac"
	ReasonAuditType       Reason = "audit_type"
	ReasonAuditEdge       Reason = "audit_edge"
	ReasonAuditState      Reason = "audit_state_mismatch"
	ReasonAuditSequence   Reason = "audit_sequence"
	ReasonReplayed        Reason = "replayed"
	ReasonMissing         Reason = "record_missing"
	ReasonNote            Reason = "note_mac"
)

// Reasons that refuse the whole store.
const (
	ReasonNotDatabase     Reason = "not_a_database"
	ReasonMetadata        Reason = "metadata"
	ReasonMetadataMissing Reason = "metadata_missing"
	ReasonColumns         Reason = "schema_columns"
	ReasonUnique          Reason = "schema_unique"
	ReasonForeignKeys     Reason = "schema_foreign_key"
	ReasonPartialIndex    Reason = "schema_partial_index"
	ReasonExtra           Reason = "schema_extra"
	ReasonOwnSchema       Reason = "schema_own"
	ReasonOwnVersion      Reason = "own_version"
	ReasonOwnRow          Reason = "own_row"
	ReasonHead            Reason = "head"
	ReasonOrphan          Reason = "foreign_key"
	ReasonSequenceGap     Reason = "audit_sequence_gap"
	ReasonAnchorMAC       Reason = "anchor_mac"
	ReasonAnchorValue     Reason = "anchor_value"
	ReasonIntegrity       Reason = "integrity_check"
	ReasonMigrationFK     Reason = "migration_foreign_key"
	ReasonLegacyMAC       Reason = "legacy_record_mac"
	ReasonLegacyFields    Reason = "legacy_record_fields"
)

// Refusal says why a store is refused and what to do, without any value.
type Refusal struct {
	Reason  Reason
	Explain string
}

// Error names the class and what to do.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%v (%s): %s", ErrRefused, r.Reason, r.Explain)
}

// Unwrap makes every Refusal an ErrRefused.
func (r *Refusal) Unwrap() error { return ErrRefused }

func refuse(r Reason) *Refusal { return &Refusal{Reason: r, Explain: explain(r)} }

// ReasonOf returns the class of a refusal or of a quarantined record, or "".
func ReasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	var f *Flaw
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}

// Flaw is what is wrong with one record. It wraps core.ErrQuarantined.
type Flaw struct {
	ContractID string
	Reason     Reason
}

// Error names the class, not the record's contents.
func (f *Flaw) Error() string {
	return fmt.Sprintf("%v (%s): %s", core.ErrQuarantined, f.Reason, explain(f.Reason))
}

// Unwrap makes every Flaw a core.ErrQuarantined.
func (f *Flaw) Unwrap() error { return core.ErrQuarantined }

// classify turns a driver error into one of this package's classes. The
// driver's text is dropped: it may name values.
func classify(err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrLocked
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return ErrReadOnly
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR:
		// A statement that does not compile met another schema than was verified.
		return ErrDamaged
	}
	return fmt.Errorf("%w (SQLite code %d)", ErrIO, e.Code())
}

// isUnique reports whether err is a violated unique or primary key.
func isUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE ||
		e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == sqlite3.SQLITE_CONSTRAINT_ROWID)
}
