/** Says in sentences what is different between two routing rules. PURE. */
import type { FailoverSwitch } from "./entities.ts";
import type { RuleContent } from "./routing-rules.ts";

const switchInWords: Record<FailoverSwitch, string> = {
  HARD_DECLINE: "declines",
  TIMEOUT: "timeouts",
  GATEWAY_ERROR: "gateway errors",
};

/** One sentence for each difference, none where the rules say the same. `nameOf` is what people call a connection. */
export function describeRuleChanges(
  before: RuleContent | undefined,
  after: RuleContent,
  nameOf: (connectionId: string) => string,
): string[] {
  const [old, new_] = [before?.connectionIds ?? [], after.connectionIds];
  const added = new_.filter((id) => !old.includes(id));
  const removed = old.filter((id) => !new_.includes(id));
  const stayed = old.filter((id) => new_.includes(id));
  // Whoever only moves up because another one left has not been moved by anybody.
  const reordered = new_.filter((id) => stayed.includes(id)).filter((id, index) => stayed[index] !== id);
  const moved = reordered.filter((id) => old.indexOf(id) !== new_.indexOf(id));
  return [
    ...added.map((id) => `${nameOf(id)} is asked, with priority ${new_.indexOf(id) + 1}.`),
    ...removed.map((id) => `${nameOf(id)} is not asked any more.`),
    ...moved.map((id) => `${nameOf(id)} goes from priority ${old.indexOf(id) + 1} to ${new_.indexOf(id) + 1}.`),
    ...describeSwitches(before?.failoverOn ?? [], after.failoverOn),
  ];
}

function describeSwitches(before: readonly FailoverSwitch[], after: readonly FailoverSwitch[]): string[] {
  return (Object.keys(switchInWords) as FailoverSwitch[]).flatMap((name) => {
    if (before.includes(name) === after.includes(name)) return [];
    const words = switchInWords[name];
    return after.includes(name)
      ? [`After ${words} the next gateway is asked.`]
      : [`${capitalized(words)} end a payment.`];
  });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
