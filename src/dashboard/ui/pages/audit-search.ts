/** The search parameters of the audit trail: its filters, so that a list can be bookmarked and shared. */

/** Each is optional; dates are days of the browser's zone. */
export type AuditSearch = {
  readonly who?: string;
  readonly action?: string;
  readonly about?: string;
  readonly after?: string;
  readonly before?: string;
  /** Includes the reads of operators. */
  readonly reads?: boolean;
};

// Invalid filters are dropped: an address may be typed by hand.
const shapes: Readonly<Record<Exclude<keyof AuditSearch, "reads">, RegExp>> = {
  who: /^.{1,254}$/su,
  action: /^[A-Za-z]{1,100}$/,
  about: /^[a-z]+_[0-9a-z]{26}$/,
  after: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
  before: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
};

export function readAuditSearch(given: Readonly<Record<string, unknown>>): AuditSearch {
  const texts = Object.entries(shapes).flatMap(([name, shape]) => {
    const text = typeof given[name] === "string" ? given[name].trim() : "";
    return shape.test(text) ? [[name, text]] : [];
  });
  const reads = [true, "true", "on"].includes(given.reads as string);
  return { ...Object.fromEntries(texts), ...(reads && { reads }) };
}
