/** The ways through a merchant's pages: their groups, the switch of the environment, and the drawer of both on a phone. */
import { Link, useLocation } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog, Heading } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { useScope } from "../scope.ts";
import { Button } from "./button.tsx";
import { PageIcon } from "./page-icon.tsx";

const groups = [
  [undefined, [["/$environment/$merchantId/home", "home", "Home"]]],
  [
    "Money",
    [
      ["/$environment/$merchantId/payments", "payments", "Payments"],
      ["/$environment/$merchantId/refunds", "refunds", "Refunds"],
      ["/$environment/$merchantId/ledger", "ledger", "Ledger"],
      ["/$environment/$merchantId/payouts", "payouts", "Payouts"],
      ["/$environment/$merchantId/settlement", "settlement", "Settlement"],
      ["/$environment/$merchantId/analytics", "analytics", "Analytics"],
    ],
  ],
  [
    "Integration",
    [
      ["/$environment/$merchantId/routing", "routing", "Routing"],
      ["/$environment/$merchantId/gateways", "gateways", "Gateways"],
      ["/$environment/$merchantId/wallets", "wallets", "Wallets"],
      ["/$environment/$merchantId/webhooks", "webhooks", "Webhooks"],
      ["/$environment/$merchantId/keys", "keys", "API keys"],
    ],
  ],
  [
    "Administration",
    [
      ["/$environment/$merchantId/team", "team", "Team"],
      ["/$environment/$merchantId/audit", "audit", "Audit trail"],
      ["/$environment/$merchantId/settings", "settings", "Settings"],
    ],
  ],
] as const;

export function usePageName(): string | undefined {
  const [, , , current] = useLocation().pathname.split("/");
  if (current === "copy-to-live") return "Copy test to live";
  return groups.flatMap(([, pages]) => [...pages]).find(([, page]) => page === current)?.[2];
}

/** The links to the pages, in groups. `onLeave` is called when one is followed. */
export function PageLinks({ onLeave }: { onLeave?: () => void }) {
  const { environmentName: environment, merchantId } = useScope();
  const id = useId();
  return groups.map(([name, pages]) => (
    <div className="nav-group" key={name ?? ""}>
      {name && <p id={`${id}-${name}`}>{name}</p>}
      <ul aria-labelledby={name && `${id}-${name}`}>
        {pages.map(([to, page, title]) => (
          <li key={to}>
            <Link to={to} params={{ environment, merchantId }} onClick={onLeave}>
              <PageIcon page={page} />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  ));
}

export function EnvironmentSwitch() {
  return (
    <nav className="environment" aria-label="Environment">
      {(["test", "live"] as const).map((environment) => (
        <Link key={environment} to="." params={(params) => ({ ...params, environment })}>
          {environment === "test" ? "Test" : "Live"}
        </Link>
      ))}
    </nav>
  );
}

/** The button of a phone's bar, and the drawer that it opens. The focus returns to the button. */
export function Drawer({ memberName }: { memberName: string | undefined }) {
  const { merchantName } = useScope();
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button
        kind="plain"
        aria-label="Menu"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPress={() => setOpen(true)}
      >
        <svg viewBox="0 0 20 20" aria-hidden="true" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round">
          <path d="M3 5.5h14M3 10h14M3 14.5h14" />
        </svg>
      </Button>
      <ModalOverlay className="overlay drawer-ground" isOpen={isOpen} onOpenChange={setOpen} isDismissable>
        <Modal className="drawer">
          <Dialog>
            <div className="drawer-head">
              <Heading slot="title">{merchantName}</Heading>
              <Button kind="plain" aria-label="Close menu" onPress={close}>
                ×
              </Button>
            </div>
            <nav className="nav" aria-label="Pages">
              <PageLinks onLeave={close} />
            </nav>
            <div className="drawer-foot">
              <Link to="/" onClick={close}>
                All merchants
              </Link>
              <Link to="/account" onClick={close}>
                Your account{memberName && `: ${memberName}`}
              </Link>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
  );
}
