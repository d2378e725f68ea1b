/** `switchyard customer`: shows what is stored of a customer, lifts the stop of a card, and erases the customer's data on request. */
import { Command } from "commander";
import type { StoredAgreementView, StoredCardView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { shown, table } from "./output.ts";

export function customerCommand(): Command {
  return new Command("customer").addCommand(showCommand()).addCommand(liftStopCommand()).addCommand(eraseCommand());
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the stored cards and agreements of a customer, newest first",
    example: "switchyard customer show --customer-ref customer-7 --environment live",
  })
    .requiredOption("--customer-ref <reference>", "the merchant's reference of the customer")
    .action(async ({ customerRef, ...options }: MerchantOptions & { customerRef: string }) => {
      await administer(
        options,
        ({ storedCards }) => storedCards.getStoredCards({ ...scopeOf(options), customerRef }),
        ({ cards = [], agreements = [] }) => [
          ...table(["CARD", "SHOWN", "EXPIRES", "STATE", "LAST USED"], cards.map(cardRow), "No card is stored."),
          "",
          ...table(
            ["AGREEMENT", "CARD", "STATE", "GATEWAYS", "RENEWALS"],
            agreements.map(agreementRow),
            "No agreement.",
          ),
        ],
      );
    });
}

function cardRow({ paymentMethodId = "", card, stoppedBecause, expired, lastUsedAt }: StoredCardView): string[] {
  const state = stoppedBecause ? `stopped: ${stoppedBecause}` : "active";
  const expires = `${String(card?.expMonth ?? 0).padStart(2, "0")}/${card?.expYear ?? 0}${expired ? ", over" : ""}`;
  return [paymentMethodId, `${card?.brand ?? ""} ${card?.last4 ?? ""}`, expires, state, lastUsedAt ?? "never"];
}

function agreementRow({ agreementId = "", gateways = [], ...agreement }: StoredAgreementView): string[] {
  const { paymentMethodId, status = "", statusBecause, renewalCount = 0 } = agreement;
  const able = gateways.filter(({ because }) => because === undefined).map(({ gateway }) => gateway);
  const state = statusBecause ? `${status}: ${statusBecause}` : status;
  return [agreementId, paymentMethodId || "none", state, able.join(" ") || "none", String(renewalCount)];
}

function liftStopCommand(): Command {
  return merchantCommand("lift-stop", {
    description:
      "lift the stop that a bank or a card network has put on a card, for every customer of the merchant with its number; networks charge for tries of a card that they have stopped for good",
    example: 'switchyard customer lift-stop pm_… --reason "The account was set up wrongly" --environment live',
  })
    .argument("<card>", "id of the stored card, such as pm_01h455vb4pex5vsknk084sn02q")
    .requiredOption("--reason <text>", "why, for the audit trail")
    .action(async (paymentMethodId: string, { reason, ...options }: MerchantOptions & { reason: string }) => {
      await administer(
        options,
        ({ storedCards }) => storedCards.liftCardStop({ ...scopeOf(options), paymentMethodId, reason }),
        ({ stoppedBecause }) => [
          `Lifted the stop of ${paymentMethodId}: ${shown(stoppedBecause)}. Until when to wait, and the declines that count, stay.`,
        ],
      );
    });
}

type Named = { readonly email?: string; readonly session?: string; readonly customerRef?: string };

function eraseCommand(): Command {
  return merchantCommand("erase", {
    description:
      "erase a customer's e-mail address, name and billing address from every session of the merchant with this address, or from one session; this cannot be undone",
    example: "switchyard customer erase --email ada@example.com --merchant mer_… --environment live",
  })
    .option("--email <address>", "e-mail address of the customer; case is ignored")
    .option("--session <id>", "the one session to erase from, such as one without an e-mail address")
    .option(
      "--customer-ref <reference>",
      "the merchant's reference of the customer, whose agreements are cancelled and whose stored cards are deleted too",
    )
    .action(async (given: MerchantOptions & Named) => {
      const { email = "", session: sessionId = "", customerRef = "", ...options } = given;
      await administer(
        options,
        async ({ settings }) => {
          let [sessions, orderReferences, after] = [0, 0, ""];
          do {
            const erased = await settings.eraseCustomer({ ...scopeOf(options), email, sessionId, customerRef, after });
            sessions += erased.sessions ?? 0;
            orderReferences += erased.orderReferences ?? 0;
            after = erased.nextAfter ?? "";
          } while (after !== "");
          return { sessions, orderReferences };
        },
        ({ sessions, orderReferences }) => [
          `Erased the customer's data from ${counted(sessions)}.`,
          ...(orderReferences === 0
            ? []
            : [
                `The order reference, metadata or refund references of ${counted(orderReferences)} contain the address. They belong to the shop and were not changed.`,
              ]),
          "Backups and gateways may still have the data: see docs/retention.md.",
        ],
      );
    });
}

const counted = (sessions: number) => (sessions === 1 ? "1 session" : `${sessions} sessions`);
