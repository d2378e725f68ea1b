/** `switchyard settings`: a merchant's checkout settings besides its origins. */
import { Command, InvalidArgumentError } from "commander";
import type { SettingsView } from "../client/dashboard-client.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";

type SettingsOptions = AttachOptions & ScopeOptions;

/** Shows and sets the time that sessions stay open. */
export function settingsCommand(): Command {
  return new Command("settings")
    .description("checkout settings of a merchant")
    .addCommand(showCommand())
    .addCommand(setCommand());
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the settings",
    example: "switchyard settings show --environment live",
  }).action(async (options: SettingsOptions) => {
    await administer(
      options,
      ({ settings }) => settings.getSettings(scopeOf(options)),
      ({ settings }) => describeSettings(settings),
    );
  });
}

function setCommand(): Command {
  return merchantCommand("set", {
    description: "set how long new sessions can be paid; existing sessions keep their time",
    example: "switchyard settings set --session-lifetime 20 --environment live",
  })
    .requiredOption("--session-lifetime <minutes>", "lifetime of a session, 5 to 1440 minutes", parseMinutes)
    .action(async ({ sessionLifetime, ...options }: SettingsOptions & { sessionLifetime: number }) => {
      const sessionLifetimeSeconds = sessionLifetime * 60;
      await administer(
        options,
        ({ settings }) => settings.setSessionLifetime({ ...scopeOf(options), sessionLifetimeSeconds }),
        ({ settings }) => describeSettings(settings),
      );
    });
}

function parseMinutes(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of minutes from 5 to 1440.");
  return Number(text);
}

function describeSettings(settings: SettingsView = {}): readonly string[] {
  const { sessionLifetimeSeconds = 0, checkoutOrigins = [], attemptTimeoutMs = 0, submissionBudgetMs = 0 } = settings;
  return [
    `Session lifetime: ${sessionLifetimeSeconds / 60} minutes`,
    `Checkout origins: ${checkoutOrigins.join(", ") || "none"}`,
    `Set by the operator: ${attemptTimeoutMs / 1_000} s for the response of a gateway, ${submissionBudgetMs / 1_000} s for a payment with all its attempts`,
  ];
}
