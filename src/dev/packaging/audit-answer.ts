/** Reads the answer of `npm audit --json`: nothing found, something found, or no answer. Pure. */

/** `line` is for a person. */
export type AuditAnswer = { readonly kind: "clean" | "found" | "unanswered"; readonly line: string };

type Report = {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  readonly message?: string;
};

/** Any answer that is not a complete report counts as unanswered, never as clean. */
export function readAuditAnswer(text: string): AuditAnswer {
  const report = parse(text);
  const counts = report?.metadata?.vulnerabilities;
  if (report === undefined || typeof counts?.total !== "number") {
    const why = report?.message ?? "no report came";
    return { kind: "unanswered", line: `NOT CHECKED. The registry does not answer audits: ${why}` };
  }
  if (counts.total === 0) return { kind: "clean", line: "no known vulnerability in the packages of the image" };
  const named = Object.entries(report.vulnerabilities ?? {}).map(([name, { severity }]) => `${name} (${severity})`);
  return { kind: "found", line: `known vulnerabilities: ${counts.total}, ${named.join(", ")}` };
}

function parse(text: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
