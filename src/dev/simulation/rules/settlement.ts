/** Rules S1 and S3 of docs/settlement.md: a line is stored once, and a movement is paid once. */
import { type Rule, withoutConstraint, withoutUnique } from "./rule.ts";

/** Rules S1 and S3, each with its removal. */
export const settlementRules: readonly Rule[] = [
  {
    id: "line-once",
    number: "S1",
    says: "A line of a statement is stored once, however often it is read.",
    code: [{ file: "src/settlement/record-lines.ts", instead: ["  const added = given;"] }],
    database: [withoutConstraint("payout_line_pkey")],
    harm: "is stored twice",
    seenAt: 257,
  },
  {
    id: "movement-once",
    number: "S3",
    says: "A movement of money is paid by one line.",
    code: [{ file: "src/settlement/match-line.ts", instead: ["  const [open] = exact;"] }],
    database: [withoutUnique("payout_line_of_entry")],
    harm: "is paid by two lines",
    seenAt: 1_026,
  },
];
