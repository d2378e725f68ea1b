/** What `npm audit --json` answered, told apart: nothing found, something found, or nobody who would say. Pure. */

/** `line` is for a person. */
export type AuditAnswer = { readonly kind: "clean" | "found" | "unanswered"; readonly line: string };

type Report = {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  readonly message?: string;
};

/** Anything that is no whole report counts as unanswered, never as clean. */
export function readAuditAnswer(text: string): AuditAnswer {
  const report = parse(text);
  const counts = report?.metadata?.vulnerabilities;
  if (report === undefined || typeof counts?.total !== "number") {
    const why = report?.message ?? "no report came";
    return { kind: "unanswered", line: `NOT CHECKED. The registry does not answer audits: ${why}` };
  }
  if (counts.total === 0) return { kind: "clean", line: "no known weakness in what goes into the image" };
  const named = Object.entries(report.vulnerabilities ?? {}).map(([name, { severity }]) => `${name} (${severity})`);
  return { kind: "found", line: `${counts.total} known: ${named.join(", ")}` };
}

function parse(text: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
