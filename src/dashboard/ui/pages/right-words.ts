/** The rights of restricted keys, with what each allows. */
export const rightNames = [
  ["sessions.create", "Create sessions and set-ups, and cancel those that were not submitted."],
  ["sessions.read", "Read and list sessions and disputes, and read refunds."],
  ["payments.capture", "Capture and cancel held payments."],
  ["refunds.create", "Refund payments."],
  ["disputes.respond", "Accept disputes and submit evidence."],
  ["cards.read", "Read and list stored cards."],
  ["cards.delete", "Delete stored cards."],
  ["agreements.read", "Read and list agreements."],
  ["agreements.cancel", "Cancel agreements."],
  ["agreements.charge", "Charge agreements, and make recovery links."],
  ["ledger.read", "List the ledger, payouts and settlements."],
  ["events.read", "List and watch events."],
] as const;
