/** English: the texts of the part that shows an action, which they come with. */

import type { ActionTexts } from "../texts.ts";

export const action: ActionTexts = {
  heading: "Confirm this payment with your bank",
  inWindow: "Your bank’s page opens in its own window. This page continues when you have confirmed.",
  goToBank: "Continue at your bank",
  newWindow: "Open in a new window",
  noWindow: "Your bank’s page cannot be opened here. Open this page in your browser.",
  elsewhere: "Your bank’s page is open in another tab or window.",
  continueHere: "Continue here",
  waiting: "Waiting for your bank’s answer…",
  cancel: "Cancel payment",
  soon: "Less than two minutes left to confirm.",
};
