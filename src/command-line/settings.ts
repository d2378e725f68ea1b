/** `switchyard settings`: a merchant's checkout settings besides its origins. */
import { Command, InvalidArgumentError, Option } from "commander";
import type { SettingsView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";

export function settingsCommand(): Command {
  return new Command("settings").addCommand(showCommand()).addCommand(setCommand());
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the settings",
    example: "switchyard settings show --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ settings }) => settings.getSettings(scopeOf(options)),
      ({ settings }) => describeSettings(settings),
    );
  });
}

function setCommand(): Command {
  return merchantCommand("set", {
    description: "change settings of new sessions; existing sessions keep theirs",
    example: 'switchyard settings set --session-lifetime 20 --statement-descriptor "Acme Books" --environment live',
  })
    .option("--session-lifetime <minutes>", "lifetime of a session, 5 to 1440 minutes", parseMinutes)
    .option(
      "--statement-descriptor <text>",
      "text for customers' card statements, of sessions that name none of their own; 5 to 22 characters, or empty for none",
    )
    .addOption(
      new Option(
        "--repeated-orders <choice>",
        "a second payment of an order is taken with an alert, or refused",
      ).choices(["warn", "refuse"]),
    )
    .addOption(
      new Option(
        "--braking <choice>",
        "payments are braked against card testing, or not, for --hours; or the declined cards decide",
      ).choices(["on", "off", "by-cards"]),
    )
    .option("--hours <hours>", "the time for which --braking on or off is held, 1 to 168 hours", parseHours)
    .action(async ({ braking, hours, ...given }: MerchantOptions & Changes) => {
      const { sessionLifetime, statementDescriptor, repeatedOrders, ...options } = given;
      if ([sessionLifetime, statementDescriptor, repeatedOrders, braking].every((one) => one === undefined)) {
        throw new UsageError(
          "Give --session-lifetime, --statement-descriptor, --repeated-orders, --braking, or several of them.",
        );
      }
      if ((braking === "on" || braking === "off") !== (hours !== undefined)) {
        throw new UsageError("Give --hours with --braking on or off, and with nothing else.");
      }
      const scope = scopeOf(options);
      await administer(
        options,
        async ({ settings }) => {
          if (statementDescriptor !== undefined)
            await settings.setStatementDescriptor({ ...scope, statementDescriptor });
          if (repeatedOrders !== undefined) {
            await settings.setRepeatedOrders({ ...scope, repeatedOrders: messages[repeatedOrders] });
          }
          if (braking !== undefined) {
            await settings.setBraking({ ...scope, hold: holds[braking], ...(hours !== undefined && { hours }) });
          }
          if (sessionLifetime === undefined) return settings.getSettings(scope);
          return settings.setSessionLifetime({ ...scope, sessionLifetimeSeconds: sessionLifetime * 60 });
        },
        ({ settings }) => describeSettings(settings),
      );
    });
}

type Changes = {
  readonly sessionLifetime?: number;
  readonly statementDescriptor?: string;
  readonly repeatedOrders?: keyof typeof messages;
  readonly braking?: keyof typeof holds;
  readonly hours?: number;
};

const messages = { warn: "REPEATED_ORDERS_WARN", refuse: "REPEATED_ORDERS_REFUSE" } as const;

const holds = { on: "ON", off: "OFF", "by-cards": "NONE" } as const;

function parseHours(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of hours from 1 to 168.");
  return Number(text);
}

function parseMinutes(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of minutes from 5 to 1440.");
  return Number(text);
}

function describeBraking({ now, hold }: NonNullable<SettingsView["braking"]> = {}): string {
  const state = now ? `on since ${now.beganAt}, ${now.cards ?? 0} cards, threshold ${now.threshold}` : "not braking";
  return hold ? `${state}; held ${hold.on ? "on" : "off"} until ${hold.until} by ${hold.heldBy}` : state;
}

function describeSettings(settings: SettingsView = {}): readonly string[] {
  const { sessionLifetimeSeconds = 0, checkoutOrigins = [], attemptTimeoutMs = 0, submissionBudgetMs = 0 } = settings;
  return [
    `Session lifetime: ${sessionLifetimeSeconds / 60} minutes`,
    `Statement descriptor: ${settings.statementDescriptor || "none; gateways use their account's text"}`,
    `A second payment of an order: ${settings.repeatedOrders === messages.refuse ? "refused" : "taken, with an alert"}`,
    `Braking against card testing: ${describeBraking(settings.braking)}`,
    `Checkout origins: ${checkoutOrigins.join(", ") || "none"}`,
    `Set by the operator: ${attemptTimeoutMs / 1_000} s for the response of a gateway, ${submissionBudgetMs / 1_000} s for a payment with all its attempts`,
  ];
}
