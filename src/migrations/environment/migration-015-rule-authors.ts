/** Who set a version of a routing rule, and which older one it says again. */

export const name = "015-rule-authors";

export const sql = `
-- Without a default nothing is rewritten. Versions from before, and the one that a demo begins with, have nobody.
ALTER TABLE routing_rule
  ADD COLUMN set_by text,
  ADD COLUMN restored_from int CHECK (restored_from BETWEEN 1 AND version - 1);
`;
