/** A matter that is met again after a person closed its row, and captures that a gateway took on and never reported about. */

export const name = "008-work-list";

export const sql = `
-- One row for each matter, among those that nobody has closed.
ALTER TABLE work_item DROP CONSTRAINT work_item_session_id_attempt_id_kind_rule_key;
CREATE UNIQUE INDEX work_item_one_open ON work_item (session_id, attempt_id, kind, rule) NULLS NOT DISTINCT
  WHERE closed_at IS NULL;
-- Whether a matter was closed, and when.
CREATE INDEX work_item_of_attempt ON work_item (session_id, attempt_id, kind);

ALTER TABLE work_item DROP CONSTRAINT work_item_kind_check;
ALTER TABLE work_item ADD CONSTRAINT work_item_kind_check CHECK (
  kind IN ('VOID_UNANSWERED','CAPTURE_UNANSWERED','CAPTURE_UNCONFIRMED','STRAY_HOLD','RECORD_MISMATCH',
           'CAPTURE_FAILED','INVARIANT_VIOLATED'));
-- Those that are waited for, and the few whose confirmation never came.
CREATE INDEX payment_session_unconfirmed ON payment_session (settled_at) WHERE NOT capture_confirmed;
`;
