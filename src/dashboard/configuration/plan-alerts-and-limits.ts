/** The sections of a configuration that only owners change: alerts, and how much members may refund. */
import { AlertTopic as TopicMessage } from "../../../gen/dashboard/v1/alerts_pb.ts";
import type { AlertSection, RefundLimitSection } from "../../../gen/dashboard/v1/configuration_pb.ts";
import { type AlertTopic, alertTopics } from "../../events/alerts.ts";
import { amountInWords } from "../../platform/money.ts";
import type { RefundingRole, RefundLimits } from "../../refunds/daily-limit.ts";
import { amountsOf } from "../refund-limit-messages.ts";
import { type Change, valueChange } from "./plan-change.ts";

export type HeldAlerts = { readonly addresses: readonly string[]; readonly mutedTopics: readonly AlertTopic[] };

export type AlertPlan = {
  readonly changes: readonly Change[];
  readonly addresses?: readonly string[];
  readonly mutedTopics?: readonly AlertTopic[];
};

export function planAlerts(merchant: string, held: HeldAlerts, wanted: AlertSection): AlertPlan {
  const mutedTopics = alertTopics.filter((topic) => wanted.mutedTopics.includes(TopicMessage[topic]));
  const muted = alertTopics.filter((topic) => held.mutedTopics.includes(topic));
  const addresses = valueChange("alerts.addresses", [held.addresses, wanted.addresses], {
    subject: `${merchant}/alert-addresses`,
    sentences: [
      wanted.addresses.length === 0
        ? "No alert is mailed."
        : `Alerts are mailed to ${wanted.addresses.join(", ")}, once each has confirmed.`,
    ],
    removes: held.addresses.some((address) => !wanted.addresses.includes(address)),
  });
  const topics = valueChange("alerts.mutedTopics", [muted, mutedTopics], {
    subject: `${merchant}/muted-alerts`,
    sentences: [
      mutedTopics.length === 0
        ? "Every alert is sent."
        : `Shown and not sent: ${mutedTopics.map((topic) => topic.toLowerCase().replaceAll("_", " ")).join(", ")}.`,
    ],
  });
  return {
    changes: [...addresses, ...topics],
    ...(addresses.length > 0 && { addresses: wanted.addresses }),
    ...(topics.length > 0 && { mutedTopics }),
  };
}

export type LimitPlan = { readonly changes: readonly Change[]; readonly limits?: RefundLimits };

/** Throws `invalid_field` for a currency that is given twice or does not exist. */
export function planLimits(merchant: string, held: RefundLimits, wanted: RefundLimitSection): LimitPlan {
  const roles = [
    ["support", "SUPPORT", "Members of the role support"],
    ["developers", "DEVELOPER", "Developers"],
    ["owners", "OWNER", "Owners"],
  ] as const satisfies readonly (readonly [keyof RefundLimitSection, RefundingRole, string])[];
  const limits = {
    SUPPORT: amountsOf(wanted.support, "support"),
    DEVELOPER: amountsOf(wanted.developers, "developers"),
    OWNER: amountsOf(wanted.owners, "owners"),
  };
  const changes = roles.flatMap(([field, role, who]) => {
    const amounts = Object.entries(limits[role]).map(([currency, minor]) => amountInWords(minor, currency));
    return valueChange(`refundLimits.${field}`, [sorted(held[role]), sorted(limits[role])], {
      subject: `${merchant}/refund-limits`,
      sentences: [
        amounts.length === 0
          ? `${who} have no daily limit of refunds.`
          : `${who} refund at most ${amounts.join(", ")} per day each.`,
      ],
    });
  });
  return { changes, ...(changes.length > 0 && { limits }) };
}

/** Limits in the order of the currencies' codes. */
export function sorted(limits: Readonly<Record<string, number>> = {}): readonly (readonly [string, number])[] {
  return Object.entries(limits).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
