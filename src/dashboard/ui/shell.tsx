/** The frame around every page about a merchant: its navigation, beside the page or in the drawer of a phone. */
import { Link, Outlet } from "@tanstack/react-router";
import { useEffect } from "react";
import { Role } from "../../../gen/dashboard/v1/role_pb.ts";
import { Mark } from "./parts/mark.tsx";
import { Drawer, EnvironmentSwitch, PageLinks, usePageName } from "./parts/navigation.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { SecondFactorNeeded } from "./parts/second-factor-link.tsx";
import { Shortcuts } from "./parts/shortcuts.tsx";
import { Missing } from "./parts/states.tsx";
import { chosenCell } from "./rpc.ts";
import { useScope } from "./scope.ts";
import { useSignIn } from "./signed-in.tsx";

export function Shell() {
  const { environmentName, merchantId, merchantName } = useScope();
  const { member } = useSignIn();
  const pageName = usePageName();
  const cell = chosenCell();
  useEffect(() => {
    document.title = [pageName, merchantName, environmentName, "Switchyard"].filter(Boolean).join(" · ");
    return () => {
      document.title = "Switchyard";
    };
  }, [pageName, merchantName, environmentName]);
  if (merchantName === undefined) return <Missing />;
  return (
    <div className="shell" data-environment={environmentName}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <div className="bar-menu">
          <Drawer memberName={member?.name} />
        </div>
        <div className="bar-title">
          <span className="bar-page">{pageName}</span>
          <Link className="brand" to="/">
            <Mark />
            <span>{merchantName}</span>
          </Link>
        </div>
        <EnvironmentSwitch />
        <div className="bar-end">
          {cell && <span>Cell {cell}</span>}
          <Shortcuts environment={environmentName} merchantId={merchantId} />
          <Link className="bar-account" to="/account">
            {member?.name}
          </Link>
        </div>
      </header>
      <nav className="nav nav-side" aria-label="Pages">
        <PageLinks />
      </nav>
      <main className="main" id="main" tabIndex={-1}>
        <Content />
      </main>
    </div>
  );
}

/** The page, or why live is closed to the member. */
function Content() {
  const { environmentName, role } = useScope();
  const { secondFactorRequired, hasSecondFactor } = useSignIn();
  const pageName = usePageName();
  if (environmentName === "live" && secondFactorRequired && !hasSecondFactor) return <SecondFactorNeeded />;
  return role === Role.NONE && pageName !== "Team" ? <NoRole /> : <Outlet />;
}

function NoRole() {
  const { merchantId, merchantName } = useScope();
  return (
    <>
      <PageHead title="No access to live">
        You have a role at {merchantName} in test only. An owner can give you one in live, on the Team page.
      </PageHead>
      <Link to="/$environment/$merchantId/home" params={{ environment: "test", merchantId }}>
        Open test
      </Link>
    </>
  );
}
