/** Settings of a merchant's alerts, and their test: proto ↔ events. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type AlertService, AlertTopic, SetAlertChatResponseSchema } from "../../gen/dashboard/v1/alerts_pb.ts";
import { loadAlertAddresses } from "../accounts/alert-addresses.ts";
import {
  type AlertSettings,
  chatAddress,
  loadAlertChat,
  loadAlertSettings,
  recordAlertChat,
  recordMutedTopics,
  removeAlertChat,
} from "../events/alert-settings.ts";
import { writeTestMessage } from "../events/alert-text.ts";
import { alertTopics } from "../events/alerts.ts";
import { postToChat } from "../events/chat.ts";
import { encodeId } from "../platform/ids.ts";
import { askToConfirm, mailCounted } from "./confirm-alert-address.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedContextOf } from "./rpc-context.ts";

export function createAlertService(parts: DashboardParts): ServiceImpl<typeof AlertService> {
  const { mailer, runtime, dashboardOrigin } = parts;
  const toMessage = ({ mutedTopics, chatHost }: AlertSettings) => ({
    mutedTopics: mutedTopics.map((topic) => AlertTopic[topic]),
    chatHost: chatHost ?? "",
    canMail: mailer !== undefined,
  });
  return {
    async getAlertSettings(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const settings = await loadAlertSettings(environment.database, merchantId);
      return { settings: toMessage(settings) };
    },

    async setMutedAlerts(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const mutedTopics = alertTopics.filter((topic) => request.mutedTopics.includes(AlertTopic[topic]));
      const settings = await change(async (tx) => {
        const before = await loadAlertSettings(tx, merchantId);
        await recordMutedTopics(tx, merchantId, mutedTopics);
        const subject = `${encodeId("mer", merchantId)}/muted-alerts`;
        await rpcContext.audit(tx, { subject, before: { topics: before.mutedTopics }, after: { topics: mutedTopics } });
        return { ...before, mutedTopics };
      });
      return { settings: toMessage(settings) };
    },

    async setAlertChat({ url }, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      if (url !== "") await environment.endpoints.egress.requirePublic(url, chatAddress);
      return change(async (tx) => {
        const before = await loadAlertSettings(tx, merchantId);
        const set = url === "" ? undefined : await recordAlertChat(tx, environment.endpoints, { merchantId, url });
        if (set === undefined) await removeAlertChat(tx, merchantId);
        const chatHost = set?.host ?? null;
        const subject = `${encodeId("mer", merchantId)}/alert-chat`;
        await rpcContext.audit(tx, { subject, before: { host: before.chatHost }, after: { host: chatHost } });
        return create(SetAlertChatResponseSchema, {
          settings: toMessage({ ...before, chatHost }),
          signingSecret: set?.signingSecret.expose() ?? "",
        });
      });
    },

    async sendTestAlert(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { database, endpoints, name: environmentName } = environment;
      const id = encodeId("ntc", runtime.uuid());
      const message = writeTestMessage({ id, merchantId, environmentName, dashboardOrigin });
      const [{ chatHost }, { addresses, unconfirmed, removals }, chat] = await Promise.all([
        loadAlertSettings(database, merchantId),
        loadAlertAddresses(database, merchantId),
        loadAlertChat(database, endpoints, merchantId),
      ]);
      const mails = addresses.map(async (to) => {
        if (unconfirmed.includes(to)) {
          const failure = await askToConfirm(parts, environment, { merchantId, address: to, removals });
          const problem = failure || "This address has not confirmed yet. The request to confirm was mailed again.";
          return { recipient: to, accepted: false, problem };
        }
        const problem = await mailCounted(parts, { merchantId, address: to }, message);
        return { recipient: to, accepted: problem === "", problem };
      });
      const posts = chat === undefined ? [] : [postToChat(endpoints, chat, message)];
      const chats = posts.map(async (post) => {
        const failure = await post;
        return { recipient: chatHost ?? "", accepted: failure === undefined, problem: failure ? `${failure}.` : "" };
      });
      return { results: await Promise.all([...mails, ...chats]) };
    },
  };
}
