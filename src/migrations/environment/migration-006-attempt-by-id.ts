/** The way from a gateway's notice to its attempt. */

export const name = "006-attempt-by-id";

export const sql = `
-- A notice names the attempt and knows no session, which every other key of an attempt begins with.
CREATE INDEX attempt_by_id ON attempt (id);
`;
